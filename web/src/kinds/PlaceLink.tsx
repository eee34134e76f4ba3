import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { kindOf } from "@/kinds/kinds";

type Props = { kind: string; project: number; id: number; children: ReactNode };

/** A link to the page of a runnable. */
export function PlaceLink({ kind, project: pid, id, children }: Props) {
  const link = (props: object) => <Link {...props} {...kindOf(kind).place(pid, id)} />;
  return (
    <Anchor fw={600} style={{ overflowWrap: "anywhere" }} renderRoot={link}>
      {children}
    </Anchor>
  );
}
