import { Select, Stack, Text, type ComboboxItem } from "@mantine/core";

export type Reasoned = { value: string; label: string; /** Why it cannot be chosen. */ reason: string | null };

type Props = { label: string; value: string | null; options: readonly Reasoned[]; change: (value: string) => void; error?: string; description?: string };

/** A drop-down that says beside each choice that cannot be made why not: for eyes, mouse and keyboard alike. */
export function ReasonedSelect({ label, value, options, change, error, description }: Props) {
  return (
    <Select
      label={label}
      description={description}
      value={value}
      error={error}
      allowDeselect={false}
      data={options.map((option) => ({ value: option.value, label: option.label, disabled: option.reason !== null }))}
      onChange={(chosen) => chosen !== null && change(chosen)}
      renderOption={({ option }) => <Told option={option} reason={options.find((one) => one.value === option.value)?.reason ?? null} />}
      maxDropdownHeight={320}
      comboboxProps={{ shadow: "md" }}
      styles={{ option: { opacity: 1 } }} // what cannot be chosen is still to be read
    />
  );
}

function Told({ option, reason }: { option: ComboboxItem; reason: string | null }) {
  return (
    <Stack gap={0} title={reason ?? undefined}>
      <Text size="sm" className={reason ? "dim" : undefined}>
        {option.label}
      </Text>
      {reason && (
        <Text size="xs" className="dim">
          {reason}
        </Text>
      )}
    </Stack>
  );
}
