import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { JobTold } from "@/api/schema.gen";

type Props = { kind: JobTold["kind"]; project: number; id: number; children: ReactNode };

/** To where something that was measured is shown. */
export function PlaceLink({ kind, project: pid, id, children }: Props) {
  const link = (props: object) => {
    switch (kind) {
      case "benchmark":
        return <Link {...props} to="/p/$pid/benchmarks/$bid" params={{ pid, bid: id }} />;
      case "comparison":
        return <Link {...props} to="/p/$pid/compare" params={{ pid }} search={{ comparison: id }} />;
      case "profile":
        return <Link {...props} to="/p/$pid/profiles/$fid" params={{ pid, fid: id }} />;
      case "optimization":
        return <Link {...props} to="/p/$pid" params={{ pid }} />;
    }
  };
  return (
    <Anchor fw={600} style={{ overflowWrap: "anywhere" }} renderRoot={link}>
      {children}
    </Anchor>
  );
}
