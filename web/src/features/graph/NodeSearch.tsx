import { Combobox, Group, Text, TextInput, useCombobox } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { memo, useEffect, useEffectEvent, useMemo, type RefObject } from "react";

import type { NodeDocument } from "@/api/parts";
import { findNodes } from "@/features/graph/find";
import { plural } from "@/format/numbers";

const MOST = 50;

type Props = {
  nodes: readonly NodeDocument[];
  text: string;
  setText: (text: string) => void;
  open: (id: string) => void;
  input: RefObject<HTMLInputElement | null>;
};

/** Searches nodes by name, operator or pattern; Enter opens the first hit. */
export const NodeSearch = memo(function NodeSearch({ nodes, text, setText, open, input }: Props) {
  const list = useCombobox({ onDropdownClose: () => list.resetSelectedOption() });
  const hits = useMemo(() => findNodes(nodes, text), [nodes, text]);
  const selectFirst = useEffectEvent(() => list.selectFirstOption());
  useEffect(() => {
    selectFirst();
  }, [hits]);
  return (
    <Combobox
      store={list}
      onOptionSubmit={(id) => {
        list.closeDropdown();
        open(id);
      }}
    >
      <Combobox.Target>
        <TextInput
          ref={input}
          aria-label="Search nodes"
          placeholder="Search name, type, /regex/"
          leftSection={<IconSearch size={16} />}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            list.openDropdown();
          }}
          onFocus={() => list.openDropdown()}
          onBlur={() => list.closeDropdown()}
          style={{ flex: "1 1 200px" }}
        />
      </Combobox.Target>
      <Combobox.Dropdown hidden={text.trim() === ""}>
        <Combobox.Options mah={300} style={{ overflowY: "auto" }}>
          {hits.slice(0, MOST).map((node) => (
            <Combobox.Option key={node.id} value={node.id}>
              <Group gap="xs" wrap="nowrap">
                <Text size="sm" fw={600}>
                  {node.op_type}
                </Text>
                <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                  {node.id}
                </Text>
              </Group>
            </Combobox.Option>
          ))}
          {hits.length === 0 && <Combobox.Empty>No node matches</Combobox.Empty>}
        </Combobox.Options>
        {hits.length > 0 && (
          <Combobox.Footer>
            <Text size="xs" className="dim">
              {hits.length > MOST ? `The first ${MOST} of ${plural(hits.length, "node")}` : plural(hits.length, "node")} · Enter opens the highlighted one
            </Text>
          </Combobox.Footer>
        )}
      </Combobox.Dropdown>
    </Combobox>
  );
});
