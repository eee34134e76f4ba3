import { Modal } from "@mantine/core";

export function Palette({ close }: { close: () => void }) {
  return (
    <Modal opened onClose={close} title="Search">
      {null}
    </Modal>
  );
}
