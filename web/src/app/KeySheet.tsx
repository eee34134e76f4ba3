import { Kbd, Modal, Table } from "@mantine/core";

import { KEYS } from "@/app/shortcuts";

export function KeySheet({ close }: { close: () => void }) {
  return (
    <Modal opened onClose={close} title="Keys">
      <Table>
        <Table.Tbody>
          {KEYS.map(([keys, does]) => (
            <Table.Tr key={keys}>
              <Table.Td style={{ whiteSpace: "nowrap" }}>
                {keys.split(/\s+/).map((key) => (
                  <Kbd key={key} mr={4}>
                    {key}
                  </Kbd>
                ))}
              </Table.Td>
              <Table.Td>{does}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  );
}
