import { Button, Checkbox, Group, Stack, TagsInput, TextInput } from "@mantine/core";
import { useState } from "react";

import { chipsIn, countsIn, mergeCounts, powersOfTwo } from "@/features/benchmarks/add/form";

type Props = {
  label: string;
  /** "core counts", in messages */
  what: string;
  most: number;
  counts: number[];
  isMany: boolean;
  change: (counts: number[], isMany: boolean) => void;
  hint?: string;
  trouble?: string;
  /** Why it cannot be chosen. */
  fixed?: string;
  presets: number;
};

/** One count, or several as chips; invalid ones are refused beside the field, with the reason. */
export function CountsField({ label, what, most, counts, isMany, change, hint, trouble, fixed, presets }: Props) {
  const [text, setText] = useState<string | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const error = refused ?? trouble;
  const enter = (typed: string) => {
    const parsed = countsIn(typed, most, what);
    setRefused(parsed.trouble ?? (parsed.counts.length === 0 ? "Enter a number." : null));
    setText(typed);
    if (parsed.trouble === null && parsed.counts.length > 0) {
      change(mergeCounts(parsed.counts, []), parsed.counts.length > 1);
      if (parsed.counts.length > 1) setText(null);
    }
  };
  const enterChips = (words: string[]) => {
    const { accepted, troubles } = chipsIn(words, most, what);
    // Words come one by one: earlier refusals stay visible until a word is accepted.
    setRefused((before) =>
      troubles.length > 0 ? [...new Set([...(before ? [before] : []), ...troubles])].join(" ") : accepted.length === 0 ? "Enter at least one." : null,
    );
    change(mergeCounts(accepted, []), true);
  };
  const applyPreset = (values: number[]) => {
    setRefused(null);
    change(values, true);
  };
  return (
    <Stack gap={4}>
      {isMany ? (
        <TagsInput
          label={label}
          description={fixed ?? hint}
          value={counts.map(String)}
          onChange={enterChips}
          onDuplicate={() => setRefused(null)}
          splitChars={[",", " ", ";"]}
          error={error}
          disabled={fixed !== undefined}
          inputMode="numeric"
          placeholder={counts.length === 0 ? "1,8,32" : "add"}
          styles={{ input: { minHeight: 36 } }}
        />
      ) : (
        <TextInput
          label={label}
          description={fixed ?? hint}
          value={text ?? String(counts[0] ?? "")}
          onChange={(event) => enter(event.currentTarget.value)}
          onBlur={() => !refused && setText(null)}
          error={error}
          disabled={fixed !== undefined}
          inputMode="numeric"
        />
      )}
      <Group gap="sm">
        <Checkbox
          size="xs"
          label="Enable multiple"
          aria-label={`Enable multiple ${what}`}
          checked={isMany}
          disabled={fixed !== undefined}
          onChange={(event) => {
            setText(null);
            setRefused(null);
            change(event.currentTarget.checked ? counts : counts.slice(0, 1), event.currentTarget.checked);
          }}
        />
        {isMany && !fixed && (
          <Group gap={4}>
            <Button size="compact-xs" variant="subtle" onClick={() => applyPreset(powersOfTwo(presets))}>
              powers of two
            </Button>
            {presets >= 32 && (
              <Button size="compact-xs" variant="subtle" onClick={() => applyPreset([1, 8, 32])}>
                1, 8, 32
              </Button>
            )}
          </Group>
        )}
      </Group>
    </Stack>
  );
}
