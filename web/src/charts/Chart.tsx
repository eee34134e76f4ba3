import { ActionIcon, Box, Card, Group, Menu, Skeleton, Table, Text, Tooltip, useComputedColorScheme } from "@mantine/core";
import { IconDownload, IconInfoCircle, IconTable } from "@tabler/icons-react";
import { lazy, Suspense, useRef, useState, type ReactNode } from "react";

import type { Drawing, Saver } from "@/charts/Drawn";
import { Legend, type LegendEntry } from "@/charts/Legend";
import { saveText } from "@/charts/saving";

const Drawn = lazy(() => import("@/charts/Drawn").then((module) => ({ default: module.Drawn })));

export type ChartTable = { columns: readonly string[]; rows: readonly (readonly (string | number | null)[])[] };

type Props = {
  title: string;
  /** What all series have in common, if they are named by their differences. */
  of?: string;
  /** Its series: listed above it, each can be hidden. */
  legend?: readonly LegendEntry[];
  /** One sentence about what the chart shows, for those who cannot see it. */
  summary: string;
  /** How to read it. */
  reading: string;
  /** ECharts options for a theme; pure, so that exports can ask for the other one. */
  draw: Drawing;
  /** The same numbers, as the API gave them. */
  table: ChartTable;
  height?: number;
  /** Called with the name of the mark that was clicked. */
  pick?: (name: string) => void;
  children?: ReactNode;
};

const NONE: ReadonlySet<string> = new Set();

/** A chart: loaded when it is needed, also as a table, and to download. */
export function Chart({ title, of, legend = [], summary, reading, draw, table, height = 280, pick, children }: Props) {
  const isDark = useComputedColorScheme("light", { getInitialValueInEffect: false }) === "dark";
  const [isTable, setTable] = useState(false);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(NONE);
  const saver = useRef<Saver | null>(null);
  const name = title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return (
    <Card component="figure" m={0} padding="sm">
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text fw={600} size="sm" component="figcaption">
          {title}
          {of && (
            <Text span size="sm" className="dim">
              {` · ${of}`}
            </Text>
          )}
        </Text>
        <Group gap={2} wrap="nowrap">
          {children}
          <Tooltip label={reading}>
            <ActionIcon variant="subtle" color="gray" aria-label="How to read this">
              <IconInfoCircle size={16} />
            </ActionIcon>
          </Tooltip>
          <Tooltip label={isTable ? "View as chart" : "View as table"}>
            <ActionIcon
              variant={isTable ? "light" : "subtle"}
              color="gray"
              aria-label="View as table"
              aria-pressed={isTable}
              onClick={() => setTable(!isTable)}
            >
              <IconTable size={16} />
            </ActionIcon>
          </Tooltip>
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" aria-label={`Save ${title}`}>
                <IconDownload size={16} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item disabled={isTable} onClick={() => saver.current?.("png", name)}>
                PNG
              </Menu.Item>
              <Menu.Item disabled={isTable} onClick={() => saver.current?.("svg", name)}>
                SVG
              </Menu.Item>
              <Menu.Item onClick={() => saveText(`${name}.csv`, toCsv(table), "text/csv")}>CSV</Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </Group>
      </Group>
      <Text size="xs" className="dim" mb={4}>
        {summary}
      </Text>
      {isTable ? (
        <ChartTableView table={table} title={title} />
      ) : (
        <>
          {legend.length > 0 && <Legend entries={legend} isDark={isDark} hidden={hidden} toggle={(name) => setHidden(withToggled(hidden, name))} />}
          <Suspense fallback={<Skeleton height={height} />}>
            <Box role="img" aria-label={`${title}. ${summary}`}>
              <Drawn draw={draw} isDark={isDark} height={height} title={of ? `${title} · ${of}` : title} hidden={hidden} saver={saver} pick={pick} />
            </Box>
          </Suspense>
        </>
      )}
    </Card>
  );
}

function withToggled(hidden: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const others = [...hidden].filter((other) => other !== name);
  return new Set(hidden.has(name) ? others : [...others, name]);
}

function ChartTableView({ table, title }: { table: ChartTable; title: string }) {
  return (
    <Table.ScrollContainer minWidth={320}>
      <Table striped aria-label={title}>
        <Table.Thead>
          <Table.Tr>
            {table.columns.map((column) => (
              <Table.Th key={column}>{column}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {table.rows.map((row, rowIndex) => (
            <Table.Tr key={rowIndex}>
              {row.map((value, columnIndex) => (
                <Table.Td key={columnIndex}>{value ?? "–"}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

export function toCsv(table: ChartTable): string {
  const lines = [table.columns, ...table.rows].map((row) => row.map(toCsvField).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function toCsvField(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  // A spreadsheet would run what begins like a formula.
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
