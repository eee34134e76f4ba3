import { TagsInput } from "@mantine/core";
import { useState } from "react";

import { chipsIn, mergeCounts } from "@/features/benchmarks/add/form";

type Props = { label: string; most: number; sizes: readonly number[]; change: (sizes: number[]) => void; hint: string; trouble: string | undefined };

/** Sizes of one dimension as chips; without any, the model's own are measured. */
export function SizesField({ label, most, sizes, change, hint, trouble }: Props) {
  const [refused, setRefused] = useState<string | null>(null);
  const enterChips = (typed: string[]) => {
    const words = typed.flatMap((word) => word.split(/[\s,;]+/).filter(Boolean));
    const { accepted, troubles } = chipsIn(words, most, "sizes");
    setRefused(troubles.length > 0 ? troubles.join(" ") : null);
    change(mergeCounts(accepted, []));
  };
  return (
    <TagsInput
      label={label}
      description={hint}
      value={sizes.map(String)}
      onChange={enterChips}
      onDuplicate={() => setRefused(null)}
      splitChars={[",", " ", ";"]}
      error={refused ?? trouble}
      inputMode="numeric"
      placeholder={sizes.length === 0 ? "64,128,256" : "add"}
      styles={{ input: { minHeight: 36 } }}
    />
  );
}
