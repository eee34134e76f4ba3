import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { profileQuery, profileResultQuery, profilesQuery } from "@/api/queries";
import type { NodeDocument } from "@/api/parts";
import type { ProfileSummary } from "@/api/schema.gen";
import { timesOf, type NodeFinder, type Times } from "@/features/graph/nodeTimes";

type Timing = { profiles: readonly ProfileSummary[]; id: number | null; times: Times | null; isReady: boolean };

/** Times of the nodes by a profile of this model: the requested one, else the newest. */
export function useTimes(
  pid: number,
  mid: number,
  requested: number | undefined,
  findNode: NodeFinder | null,
  nodes: readonly NodeDocument[] | undefined,
): Timing {
  const listed = useInfiniteQuery(profilesQuery({ project_id: pid, limit: 200 }));
  const profiles = useMemo(
    () => (listed.data?.pages ?? []).flatMap((page) => page.items).filter((profile) => profile.model_id === mid && profile.last_run_at !== null),
    [listed.data, mid],
  );
  const id = requested ?? profiles[0]?.id ?? null;
  const profile = useQuery({ ...profileQuery(id ?? 0), enabled: id !== null });
  const run = profile.data?.agreement?.run_id;
  const result = useQuery({ ...profileResultQuery(run ?? ""), enabled: run !== undefined });
  const times = useMemo(
    () => (result.data && findNode && nodes ? timesOf(result.data.nodes, result.data.latency_ms.typical.value ?? 0, findNode, nodes) : null),
    [result.data, findNode, nodes],
  );
  return { profiles, id, times, isReady: listed.isSuccess };
}
