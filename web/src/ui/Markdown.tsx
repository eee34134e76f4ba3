import { Anchor, Checkbox, Code, Divider, Table, Title } from "@mantine/core";
import { Fragment, type ReactNode } from "react";

import { blocksOf, type Block, type Inline } from "@/ui/markdownBlocks";

/** A note as it reads. Only what `markdownBlocks.ts` knows becomes an element; all else is text. */
export function Markdown({ text }: { text: string }) {
  return <div className="markdown">{blocksOf(text).map(block)}</div>;
}

function block(node: Block, key: number): ReactNode {
  switch (node.kind) {
    case "heading":
      // The page has its h1 already.
      return (
        <Title key={key} order={node.level < 3 ? 3 : 4} size={node.level === 1 ? "h3" : "h4"}>
          {inline(node.parts)}
        </Title>
      );
    case "paragraph":
      return <p key={key}>{inline(node.parts)}</p>;
    case "code":
      return (
        <Code key={key} block>
          {node.text}
        </Code>
      );
    case "quote":
      return <blockquote key={key}>{node.blocks.map(block)}</blockquote>;
    case "list": {
      const items = node.items.map((item, index) => (
        <li key={index} className={item.isDone === null ? undefined : "task"}>
          {item.isDone !== null && <Checkbox size="xs" checked={item.isDone} readOnly tabIndex={-1} aria-label={item.isDone ? "done" : "to do"} />}
          <div>
            {inline(item.parts)}
            {item.below.map(block)}
          </div>
        </li>
      ));
      return node.isOrdered ? (
        <ol key={key} start={node.start}>
          {items}
        </ol>
      ) : (
        <ul key={key}>{items}</ul>
      );
    }
    case "table":
      return (
        <Table.ScrollContainer key={key} minWidth={240}>
          <Table withTableBorder w="auto">
            <Table.Thead>
              <Table.Tr>
                {node.head.map((cell, index) => (
                  <Table.Th key={index}>{inline(cell)}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {node.rows.map((row, index) => (
                <Table.Tr key={index}>
                  {row.map((cell, index) => (
                    <Table.Td key={index}>{inline(cell)}</Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      );
    case "rule":
      return <Divider key={key} my="sm" />;
    default:
      return node satisfies never;
  }
}

function inline(parts: readonly Inline[]): ReactNode {
  return parts.map((part, key) => <Fragment key={key}>{word(part)}</Fragment>);
}

function word(part: Inline): ReactNode {
  switch (part.kind) {
    case "text":
      return part.text;
    case "code":
      return <Code>{part.text}</Code>;
    case "strong":
      return <strong>{inline(part.parts)}</strong>;
    case "emphasis":
      return <em>{inline(part.parts)}</em>;
    case "struck":
      return <s>{inline(part.parts)}</s>;
    case "link":
      return (
        <Anchor href={part.address} underline="always" rel="noreferrer noopener" target={part.address.startsWith("http") ? "_blank" : undefined}>
          {inline(part.parts)}
        </Anchor>
      );
    case "break":
      return <br />;
    default:
      return part satisfies never;
  }
}
