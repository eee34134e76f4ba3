import { NativeSelect } from "@mantine/core";

type Props = { label: string; value: string; options: readonly { value: string; label: string }[]; change: (value: string) => void };

/** A small drop-down beside what it changes. */
export function Choose({ label, value, options, change }: Props) {
  return (
    <NativeSelect
      label={label}
      size="xs"
      value={value}
      data={[...options]}
      disabled={options.length < 2}
      onChange={(event) => change(event.currentTarget.value)}
      styles={{ label: { fontWeight: 500 } }}
    />
  );
}
