import { Combobox, Stack, Text, TextInput, useCombobox } from "@mantine/core";
import type { MouseEvent } from "react";

export type Reasoned = { value: string; label: string; /** Why it cannot be chosen. */ reason: string | null };

type Props = { label: string; value: string | null; options: readonly Reasoned[]; change: (value: string) => void; error?: string; description?: string };

/** A drop-down that says why a choice is unavailable: visible, and for mouse and keyboard alike.
 *
 * Arrow keys stop at such a choice, too: the library's own list skips it, and a screen reader would never read the reason. */
export function ReasonedSelect({ label, value, options, change, error, description }: Props) {
  const list = useCombobox({
    onDropdownClose: () => list.resetSelectedOption(),
    onDropdownOpen: () => list.updateSelectedOptionIndex("active", { scrollIntoView: true }),
  });
  const submit = (chosen: string) => {
    if (options.find((option) => option.value === chosen)?.reason !== null) return; // it stays open, with the reason in sight
    change(chosen);
    list.closeDropdown();
  };
  // A list that opens or scrolls under a resting mouse is not a choice: the position of the arrow keys stays.
  const moved = ({ movementX, movementY }: MouseEvent) => (movementX !== 0 || movementY !== 0) && list.resetSelectedOption();
  return (
    <Combobox store={list} onOptionSubmit={submit} shadow="md">
      <Combobox.Target targetType="button" withExpandedAttribute>
        <TextInput
          label={label}
          description={description}
          error={error}
          value={options.find((option) => option.value === value)?.label ?? ""}
          readOnly
          pointer
          rightSection={<Combobox.Chevron />}
          rightSectionPointerEvents="none"
          onClick={() => list.toggleDropdown()}
          onBlur={() => list.closeDropdown()}
        />
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Options mah={320} style={{ overflowY: "auto" }} aria-label={label}>
          {options.map((option) => (
            <Combobox.Option
              key={option.value}
              value={option.value}
              active={option.value === value}
              aria-selected={option.value === value}
              aria-disabled={option.reason !== null || undefined}
              onMouseMove={moved}
              className={option.reason === null ? undefined : "not-to-choose"}
            >
              <OptionText option={option} />
            </Combobox.Option>
          ))}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}

function OptionText({ option: { label, reason } }: { option: Reasoned }) {
  return (
    <Stack gap={0}>
      <Text size="sm">{label}</Text>
      {reason && <Text size="xs">{reason}</Text>}
    </Stack>
  );
}
