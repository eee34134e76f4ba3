import { Code } from "@mantine/core";

/** Commands stand between backticks. */
export function Ticked({ text }: { text: string }) {
  return text.split("`").map((part, index) => (index % 2 ? <Code key={index}>{part}</Code> : part));
}
