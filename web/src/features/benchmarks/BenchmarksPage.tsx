import { Button, Group, SegmentedControl, Skeleton, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconPlus, IconSearch } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";

import { benchmarksQuery } from "@/api/queries";
import { BaselineLine } from "@/features/benchmarks/Baseline";
import { BenchmarkCard } from "@/features/benchmarks/BenchmarkCard";
import { benchmarkKey } from "@/features/benchmarks/actions";
import { compareSearch, selectedIn, selectionText } from "@/features/benchmarks/selection";
import type { Started } from "@/features/benchmarks/add/submit";
import { plural } from "@/format/numbers";
import { Empty } from "@/ui/Empty";
import { Page } from "@/ui/Page";
import { usePageKeys } from "@/ui/pageKeys";
import { Trouble } from "@/ui/Trouble";
import { usePendingRemovals } from "@/ui/undo";

const AddBenchmark = lazy(() => import("@/features/benchmarks/add/AddBenchmark").then((module) => ({ default: module.AddBenchmark })));
const BenchmarkTable = lazy(() => import("@/features/benchmarks/BenchmarkTable").then((module) => ({ default: module.BenchmarkTable })));

const LAYOUT = "modeldyno.benchmarks-layout";
const MOST_CARDS = 20;
const PAGE = 50;

export function BenchmarksPage() {
  const { pid } = useParams({ from: "/p/$pid/benchmarks" });
  const search = useSearch({ from: "/p/$pid/benchmarks" });
  const navigate = useNavigate({ from: "/p/$pid/benchmarks" });
  const list = useInfiniteQuery(benchmarksQuery({ project_id: pid, text: search.text ?? "", limit: PAGE }));
  const pendingRemovals = usePendingRemovals();
  const rows = useMemo(
    () => (list.data?.pages.flatMap((page) => page.items) ?? []).filter((row) => !pendingRemovals.has(benchmarkKey(row.id))),
    [list.data, pendingRemovals],
  );
  const selected = selectedIn(search.sel);
  const layout = search.layout ?? storedLayout() ?? (rows.length > MOST_CARDS ? "table" : "cards");
  const filter = useRef<HTMLInputElement>(null);
  const [awaitedId, setAwaitedId] = useState<number | null>(null);
  const focused = useRef<number | null>(null);

  const go = useCallback(
    (change: Partial<typeof search>) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true, resetScroll: false }),
    [navigate],
  );
  const select = useCallback(
    (id: number, isSelected: boolean) => {
      const others = selectedIn(search.sel).filter((other) => other !== id);
      go({ sel: selectionText(isSelected ? [...others, id] : others) });
    },
    [go, search.sel],
  );
  const applyFilter = useDebouncedCallback((text: string) => go({ text: text || undefined }), 250);

  // A new benchmark gets the focus as soon as it is listed.
  useEffect(() => {
    if (awaitedId === null || awaitedId === focused.current || !rows.some((row) => row.id === awaitedId)) return;
    const element = document.getElementById(`benchmark-${awaitedId}`);
    if (!element) return;
    element.scrollIntoView({ block: "center" });
    element.focus({ preventScroll: true });
    focused.current = awaitedId;
  }, [awaitedId, rows]);

  const onKey = useCallback(
    (key: string) =>
      handleKey(key, filter.current, selected, select, () => void navigate({ to: "/p/$pid/compare", params: { pid }, search: compareSearch(selected) })),
    [navigate, pid, select, selected],
  );
  usePageKeys(onKey);

  const onStarted = ({ first, other }: Started) => {
    go({ add: undefined, from: undefined, text: undefined, sel: other === null ? search.sel : selectionText([first.id, other]) });
    setAwaitedId(first.id);
  };
  const add = () => go({ add: true, from: undefined });
  const isEmpty = list.isSuccess && rows.length === 0;
  return (
    <Page
      title="Benchmarks"
      actions={
        <Button leftSection={<IconPlus size={16} />} onClick={add}>
          ADD BENCHMARK
        </Button>
      }
    >
      {!(isEmpty && !search.text) && (
        <Group justify="space-between" gap="sm">
          <Group gap="sm">
            <TextInput
              ref={filter}
              placeholder="Filter by name"
              aria-label="Filter by name"
              leftSection={<IconSearch size={16} />}
              defaultValue={search.text ?? ""}
              key={search.text === undefined ? "none" : "some"}
              onChange={(event) => applyFilter(event.currentTarget.value)}
            />
            <SegmentedControl
              aria-label="Layout"
              value={layout}
              data={[
                { value: "cards", label: "Cards" },
                { value: "table", label: "Table" },
              ]}
              onChange={(value) => {
                localStorage.setItem(LAYOUT, value);
                go({ layout: value === "table" ? "table" : "cards" });
              }}
            />
          </Group>
          {selected.length > 0 && (
            <Group gap="xs">
              <Text size="sm">Selected {selected.length}</Text>
              <Button
                size="xs"
                disabled={selected.length < 2}
                renderRoot={(rest) => <Link to="/p/$pid/compare" params={{ pid }} search={compareSearch(selected)} {...rest} />}
              >
                Compare
              </Button>
              <Button size="xs" variant="subtle" color="gray" onClick={() => go({ sel: undefined })}>
                Clear
              </Button>
            </Group>
          )}
        </Group>
      )}
      <BaselineLine pid={pid} />
      {list.isError && <Trouble error={list.error} retry={() => void list.refetch()} />}
      {list.isPending && <LoadingCards />}
      {isEmpty &&
        (search.text ? (
          <Empty
            title={`No benchmark name contains “${search.text}”`}
            actions={
              <Button variant="default" onClick={() => go({ text: undefined })}>
                Show all
              </Button>
            }
          />
        ) : (
          <Empty title="No benchmark yet" actions={<Button onClick={add}>Run default benchmark</Button>}>
            Engine, cores and batch sizes are filled in; RUN starts it.
          </Empty>
        ))}
      {rows.length > 0 && layout === "cards" && (
        <Stack gap="md">
          {rows.map((row) => (
            <BenchmarkCard key={row.id} row={row} isSelected={selected.includes(row.id)} select={(is) => select(row.id, is)} onCreated={setAwaitedId} />
          ))}
        </Stack>
      )}
      {rows.length > 0 && layout === "table" && (
        <Suspense fallback={<LoadingCards />}>
          <BenchmarkTable rows={rows} selected={new Set(selected)} select={select} onCreated={setAwaitedId} />
        </Suspense>
      )}
      {list.hasNextPage && (
        <Group justify="center">
          <Text size="sm" className="dim">
            The newest {plural(rows.length, "benchmark")} of more
          </Text>
          <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Show more
          </Button>
        </Group>
      )}
      <Suspense>
        {search.add && (
          <AddBenchmark key={search.from ?? 0} pid={pid} from={search.from} close={() => go({ add: undefined, from: undefined })} onStarted={onStarted} />
        )}
      </Suspense>
    </Page>
  );
}

function LoadingCards() {
  return (
    <Stack gap="md">
      <Skeleton height={320} />
      <Skeleton height={320} />
    </Stack>
  );
}

function storedLayout(): "cards" | "table" | null {
  const layout = localStorage.getItem(LAYOUT);
  return layout === "cards" || layout === "table" ? layout : null;
}

/** Keys of the list: the focused benchmark is the current one. */
function handleKey(
  key: string,
  filter: HTMLInputElement | null,
  selected: readonly number[],
  select: (id: number, is: boolean) => void,
  compare: () => void,
): boolean {
  const elements = [...document.querySelectorAll<HTMLElement>("[data-benchmark]")];
  const index = elements.findIndex((element) => element.contains(document.activeElement));
  const current = elements[index];
  const id = Number(current?.dataset.benchmark);
  switch (key) {
    case "/":
      filter?.focus();
      return true;
    case "j":
    case "k": {
      const next = elements[index < 0 ? 0 : Math.min(elements.length - 1, Math.max(0, index + (key === "j" ? 1 : -1)))];
      next?.focus();
      next?.scrollIntoView({ block: "nearest" });
      return true;
    }
    case "x":
      if (current) select(id, !selected.includes(id));
      return current !== undefined;
    case ".":
      (current?.closest("tr") ?? current)?.querySelector<HTMLElement>("[data-menu]")?.click();
      return current !== undefined;
    case "Enter":
      if (!current || current !== document.activeElement || current.tagName === "A") return false;
      current.querySelector<HTMLElement>("a")?.click();
      return true;
    case "c":
      if (selected.length < 2) return false;
      compare();
      return true;
    default:
      return false;
  }
}
