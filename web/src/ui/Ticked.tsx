import { Code } from "@mantine/core";

/** Commands stand between backticks. */
export function Ticked({ text }: { text: string }) {
  return text.split("`").map((part, place) => (place % 2 ? <Code key={place}>{part}</Code> : part));
}
