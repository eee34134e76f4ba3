import { Switch, Table, Text } from "@mantine/core";

import type { SettingDocument } from "@/api/schema.gen";
import type { Change } from "@/features/compare/search";
import { Section } from "@/ui/Section";

type Props = { settings: readonly SettingDocument[]; isDiffOnly: boolean; change: Change };

/** All settings side by side; equal ones are hidden by default. */
export function Differences({ settings, isDiffOnly, change }: Props) {
  const differing = settings.filter((setting) => setting.differs);
  const visible = isDiffOnly ? differing : settings;
  return (
    <Section
      title={`What differs (${differing.length} of ${settings.length} settings)`}
      actions={<Switch label="Diff only" checked={isDiffOnly} onChange={(event) => change({ diff: event.currentTarget.checked ? undefined : false })} />}
    >
      {visible.length === 0 ? (
        <Text size="sm" className="dim">
          Nothing: both were measured with the same settings on the same machine in the same state.
        </Text>
      ) : (
        <Table layout="fixed" aria-label="Settings of A and B">
          <Table.Thead>
            <Table.Tr>
              <Table.Th w="30%">Setting</Table.Th>
              <Table.Th>A</Table.Th>
              <Table.Th>B</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {visible.map((setting) => (
              <Table.Tr key={setting.name} data-differs={setting.differs || undefined}>
                <Table.Th fw={setting.differs ? 600 : 400}>{setting.name}</Table.Th>
                <Table.Td style={{ overflowWrap: "anywhere" }}>{short(setting.a)}</Table.Td>
                <Table.Td style={{ overflowWrap: "anywhere" }}>{short(setting.b)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Section>
  );
}

/** The beginning of a hash is enough to distinguish it. */
function short(value: string | null): string {
  if (value === null) return "–";
  return /^[0-9a-f]{64}$/.test(value) ? `${value.slice(0, 12)}…` : value;
}
