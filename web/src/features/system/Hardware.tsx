import { Table } from "@mantine/core";

import type { SystemDocument } from "@/api/schema.gen";
import { hardwareOf } from "@/features/system/facts";
import { Section } from "@/ui/Section";

export function Hardware({ host }: { host: SystemDocument["host"] }) {
  return (
    <Section title="Hardware">
      <Table aria-label="Hardware" layout="fixed">
        <Table.Tbody>
          {hardwareOf(host).map(([label, text]) => (
            <Table.Tr key={label}>
              <Table.Th w="38%" fw={500} className="dim">
                {label}
              </Table.Th>
              <Table.Td style={{ overflowWrap: "anywhere" }}>{text}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Section>
  );
}
