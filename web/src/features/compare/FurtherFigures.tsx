import { Card, Table, Title } from "@mantine/core";

import type { FurtherRow } from "@/features/compare/furtherFigures";

export function FurtherFigures({ rows }: { rows: readonly FurtherRow[] }) {
  if (rows.length === 0) return null;
  return (
    <Card component="section" aria-label="Further figures">
      <Title order={2} size="h4">
        Further figures
      </Title>
      <Table.ScrollContainer minWidth={320}>
        <Table aria-label="Further figures">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Cell</Table.Th>
              <Table.Th>Figure</Table.Th>
              <Table.Th ta="right">A</Table.Th>
              <Table.Th ta="right">B</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(({ place, label, a, b }) => (
              <Table.Tr key={`${place} ${label}`}>
                <Table.Td>{place}</Table.Td>
                <Table.Td>{label}</Table.Td>
                <Table.Td ta="right">{a}</Table.Td>
                <Table.Td ta="right">{b}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Card>
  );
}
