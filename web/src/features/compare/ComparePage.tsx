import { Button, Skeleton, Stack } from "@mantine/core";
import { useInfiniteQuery, useQueries } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

import { benchmarkQuery, benchmarksQuery, comparisonsQuery } from "@/api/queries";
import type { BenchmarkDetailsDocument } from "@/api/schema.gen";
import { ComparisonView } from "@/features/compare/ComparisonView";
import { Pickers } from "@/features/compare/Pickers";
import { SidesView } from "@/features/compare/SidesView";
import { firstPair, hasNumber, measuredOf, parsePick, sideOf, type Measured } from "@/features/compare/picks";
import type { Change, Chosen } from "@/features/compare/search";
import { Empty } from "@/ui/Empty";
import { Page } from "@/ui/Page";
import { Trouble } from "@/ui/Trouble";

/** Two or more results side by side: which is faster, how certain that is, and what else differs. */
export function ComparePage() {
  const { pid } = useParams({ from: "/p/$pid" });
  const chosen: Chosen = useSearch({ from: "/p/$pid/compare" });
  const navigate = useNavigate({ from: "/p/$pid/compare" });
  const change: Change = useCallback((more) => void navigate({ search: (was) => ({ ...was, ...more }), replace: true }), [navigate]);
  const listed = useInfiniteQuery(benchmarksQuery({ project_id: pid, with_cells: true, limit: 100 }));
  const compared = useInfiniteQuery(comparisonsQuery({ project_id: pid, limit: 50 }));
  const newest = measuredOf(listed.data?.pages.flatMap((page) => page.items) ?? []);
  const named = [chosen.a, chosen.b, ...(chosen.more?.split(",") ?? [])].flatMap((pick) => parsePick(pick)?.benchmark ?? []);
  // An address may name one that is older than what the list begins with.
  const missing = listed.isSuccess ? [...new Set(named)].filter((id) => !newest.some((other) => other.id === id)) : [];
  const others = useQueries({ queries: missing.map(benchmarkQuery) });
  const all = [...newest, ...others.flatMap((query) => (query.data ? measuredOnly(query.data) : []))];
  const failed = [listed, compared, ...others].find((query) => query.isError);
  const isLoading = listed.isPending || compared.isPending || others.some((query) => query.isPending);
  const comparisons = compared.data?.pages.flatMap((page) => page.items) ?? [];
  const first = firstPair(all);
  const picks = { a: chosen.a ?? first?.[0], b: chosen.b ?? first?.[1] };
  const more = (chosen.more?.split(",") ?? []).flatMap((pick) => sideOf(pick, all) ?? []);
  const [a, b] = [sideOf(picks.a, all), sideOf(picks.b, all)];
  const content = () => {
    if (chosen.comparison) return <ComparisonView id={chosen.comparison} chosen={chosen} change={change} />;
    if (a && b) return <SidesView pid={pid} a={a} b={b} more={more} chosen={chosen} change={change} />;
    return <TooFew pid={pid} has={all.length} />;
  };
  return (
    <Page title="Compare">
      {failed && <Trouble error={failed.error} retry={() => void listed.refetch()} />}
      {isLoading ? (
        <Stack>
          <Skeleton height={64} />
          <Skeleton height={110} />
          <Skeleton height={300} />
        </Stack>
      ) : (
        <>
          {(all.length > 0 || comparisons.length > 0) && (
            <Pickers all={all} comparisons={comparisons} a={picks.a} b={picks.b} chosen={chosen} change={change} />
          )}
          {content()}
        </>
      )}
    </Page>
  );
}

function measuredOnly(benchmark: BenchmarkDetailsDocument): Measured[] {
  return benchmark.cells.some(hasNumber) ? [benchmark] : [];
}

function TooFew({ pid, has }: { pid: number; has: number }) {
  return (
    <Empty
      title={has === 0 ? "Nothing to compare yet" : "One more measurement is needed"}
      actions={<Button renderRoot={(props) => <Link {...props} to="/p/$pid/benchmarks" params={{ pid }} search={{ add: true }} />}>ADD BENCHMARK</Button>}
    >
      {has === 0
        ? "Measure the model with two engines or two settings; the verdict appears here."
        : "Choose two above, or measure the model with another engine or different settings."}
    </Empty>
  );
}
