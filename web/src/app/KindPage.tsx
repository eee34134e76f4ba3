import { useParams } from "@tanstack/react-router";

import { NotFound } from "@/app/NotFound";
import { kindOf } from "@/kinds/kinds";

/** A runnable of a kind that has no routes of its own. */
export function KindPage() {
  const { pid, kind, id } = useParams({ from: "/p/$pid/$kind/$id" });
  const { section: Section } = kindOf(kind);
  return Section ? <Section pid={pid} id={id} /> : <NotFound />;
}
