import { ActionIcon, Checkbox, Group, Menu, Table, Text, Tooltip, UnstyledButton } from "@mantine/core";
import { IconArrowDown, IconArrowUp, IconColumns } from "@tabler/icons-react";
import {
  createSortedRowModel,
  rowSortingFeature,
  columnVisibilityFeature,
  sortFn_alphanumeric,
  sortFn_basic,
  sortFn_text,
  tableFeatures,
  useTable,
  type ColumnDef,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, type MouseEvent, type ReactNode } from "react";

const features = tableFeatures({
  rowSortingFeature,
  columnVisibilityFeature,
  sortedRowModel: createSortedRowModel(),
  // What columns of numbers and words choose from by themselves.
  sortFns: { alphanumeric: sortFn_alphanumeric, basic: sortFn_basic, text: sortFn_text },
});

/** A column sorts by its value; it may show more. */
export type Column<Row> = {
  id: string;
  header: string;
  value: (row: Row) => string | number | null;
  show?: (row: Row) => ReactNode;
  isNumber?: boolean;
  isHidden?: boolean;
  width?: number;
  /** Takes the room that the others leave, and shortens what does not fit; one of a table at most. */
  isFlexible?: boolean;
};

type Props<Row> = {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowId: (row: Row) => string;
  height?: number;
  rowHeight?: number;
  /** Many columns: closer to each other. */
  isDense?: boolean;
  open?: (row: Row) => void;
  tools?: ReactNode;
};

/** A table that stays quick with a hundred thousand rows: only those in view are in the page. */
export function DataTable<Row extends object>({ label, rows, columns, rowId, height = 520, rowHeight = 40, isDense = false, open, tools }: Props<Row>) {
  const definitions: ColumnDef<typeof features, Row>[] = columns.map((column) => ({
    id: column.id,
    header: column.header,
    accessorFn: (row: Row) => column.value(row) ?? undefined,
    sortUndefined: "last" as const,
  }));
  const hidden = Object.fromEntries(columns.filter((column) => column.isHidden).map((column) => [column.id, false]));
  const table = useTable({
    features,
    columns: definitions,
    data: rows,
    getRowId: rowId,
    initialState: { columnVisibility: hidden },
  });
  const scroll = useRef<HTMLDivElement>(null);
  const sorted = table.getRowModel().rows;
  const visible = columns.filter((column) => table.getColumn(column.id)?.getIsVisible());
  const window = useVirtualizer({ count: sorted.length, getScrollElement: () => scroll.current, estimateSize: () => rowHeight, overscan: 12 });
  const items = window.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = window.getTotalSize() - (items[items.length - 1]?.end ?? 0);
  return (
    <>
      <Group justify="flex-end" gap="xs">
        {tools}
        <Menu closeOnItemClick={false} position="bottom-end">
          <Menu.Target>
            <Tooltip label="Columns">
              <ActionIcon variant="default" aria-label="Choose columns">
                <IconColumns size={16} />
              </ActionIcon>
            </Tooltip>
          </Menu.Target>
          <Menu.Dropdown>
            {columns.map((column) => (
              <Menu.Item key={column.id} component="div" role="menuitemcheckbox" aria-checked={table.getColumn(column.id)?.getIsVisible()}>
                <Checkbox
                  label={column.header}
                  checked={table.getColumn(column.id)?.getIsVisible() ?? false}
                  onChange={() => table.getColumn(column.id)?.toggleVisibility()}
                />
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      </Group>
      <div ref={scroll} style={{ maxHeight: height, overflow: "auto" }} tabIndex={0} role="region" aria-label={label}>
        <Table stickyHeader highlightOnHover horizontalSpacing={isDense ? 6 : undefined} aria-label={label} aria-rowcount={sorted.length + 1}>
          <Table.Thead>
            <Table.Tr>
              {visible.map((column) => {
                const direction = table.getColumn(column.id)?.getIsSorted() || false;
                const sort = direction === "asc" ? "ascending" : direction === "desc" ? "descending" : "none";
                return (
                  <Table.Th key={column.id} aria-sort={sort} ta={column.isNumber ? "right" : "left"} w={column.isFlexible ? "100%" : column.width}>
                    {column.header !== "" && (
                      <UnstyledButton fw={600} fz="sm" ta="inherit" onClick={() => table.getColumn(column.id)?.toggleSorting()}>
                        <Group gap={4} wrap="nowrap" justify={column.isNumber ? "flex-end" : "flex-start"}>
                          {column.header}
                          {direction === "asc" && <IconArrowUp size={14} aria-hidden />}
                          {direction === "desc" && <IconArrowDown size={14} aria-hidden />}
                        </Group>
                      </UnstyledButton>
                    )}
                  </Table.Th>
                );
              })}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {before > 0 && <tr style={{ height: before }} aria-hidden />}
            {items.map((item) => {
              const row = sorted[item.index]?.original;
              if (!row) return null;
              return (
                <Table.Tr
                  key={sorted[item.index]?.id}
                  aria-rowindex={item.index + 2}
                  style={{ height: rowHeight, cursor: open ? "pointer" : undefined }}
                  onClick={open && ((event) => !isControl(event) && open(row))}
                >
                  {visible.map((column) => {
                    const content = column.show
                      ? column.show(row)
                      : (column.value(row) ?? (
                          <Text span className="dim">
                            –
                          </Text>
                        ));
                    return (
                      <Table.Td key={column.id} ta={column.isNumber ? "right" : "left"} style={{ whiteSpace: "nowrap" }}>
                        {column.isFlexible ? <div className="flexible-column">{content}</div> : content}
                      </Table.Td>
                    );
                  })}
                </Table.Tr>
              );
            })}
            {after > 0 && <tr style={{ height: after }} aria-hidden />}
          </Table.Tbody>
        </Table>
      </div>
    </>
  );
}

/** The click is for a link, button or field of the row, or for a menu that it opened. */
function isControl({ target, currentTarget }: MouseEvent): boolean {
  return target instanceof Element && (!currentTarget.contains(target) || target.closest("a, button, input, label") !== null);
}
