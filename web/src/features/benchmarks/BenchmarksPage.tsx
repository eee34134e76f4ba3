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
import { useLeaving } from "@/ui/undo";

const AddBenchmark = lazy(() => import("@/features/benchmarks/add/AddBenchmark").then((found) => ({ default: found.AddBenchmark })));
const BenchmarkTable = lazy(() => import("@/features/benchmarks/BenchmarkTable").then((found) => ({ default: found.BenchmarkTable })));

const LAYOUT = "modeldyno.benchmarks-layout";
const MOST_CARDS = 20;
const PAGE = 50;

export function BenchmarksPage() {
  const { pid } = useParams({ from: "/p/$pid/benchmarks" });
  const search = useSearch({ from: "/p/$pid/benchmarks" });
  const navigate = useNavigate({ from: "/p/$pid/benchmarks" });
  const list = useInfiniteQuery(benchmarksQuery({ project_id: pid, text: search.text ?? "", limit: PAGE }));
  const leaving = useLeaving();
  const rows = useMemo(() => (list.data?.pages.flatMap((page) => page.items) ?? []).filter((row) => !leaving.has(benchmarkKey(row.id))), [list.data, leaving]);
  const selected = selectedIn(search.sel);
  const layout = search.layout ?? remembered() ?? (rows.length > MOST_CARDS ? "table" : "cards");
  const filter = useRef<HTMLInputElement>(null);
  const [waited, waitFor] = useState<number | null>(null);
  const focused = useRef<number | null>(null);

  const go = useCallback(
    (change: Partial<typeof search>) => void navigate({ search: (before) => ({ ...before, ...change }), replace: true, resetScroll: false }),
    [navigate],
  );
  const select = useCallback(
    (id: number, isSelected: boolean) => {
      const others = selectedIn(search.sel).filter((one) => one !== id);
      go({ sel: selectionText(isSelected ? [...others, id] : others) });
    },
    [go, search.sel],
  );
  const type = useDebouncedCallback((text: string) => go({ text: text || undefined }), 250);

  // What was just made gets the focus as soon as it is there.
  useEffect(() => {
    if (waited === null || waited === focused.current || !rows.some((row) => row.id === waited)) return;
    const found = document.getElementById(`benchmark-${waited}`);
    if (!found) return;
    found.scrollIntoView({ block: "center" });
    found.focus({ preventScroll: true });
    focused.current = waited;
  }, [waited, rows]);

  const keys = useCallback(
    (key: string) =>
      hear(key, filter.current, selected, select, () => void navigate({ to: "/p/$pid/compare", params: { pid }, search: compareSearch(selected) })),
    [navigate, pid, select, selected],
  );
  usePageKeys(keys);

  const started = ({ first, other }: Started) => {
    go({ add: undefined, from: undefined, text: undefined, sel: other === null ? search.sel : selectionText([first.id, other]) });
    waitFor(first.id);
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
              onChange={(event) => type(event.currentTarget.value)}
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
      {list.isError && <Trouble error={list.error} again={() => void list.refetch()} />}
      {list.isPending && <Waiting />}
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
            <BenchmarkCard key={row.id} row={row} isSelected={selected.includes(row.id)} select={(is) => select(row.id, is)} made={waitFor} />
          ))}
        </Stack>
      )}
      {rows.length > 0 && layout === "table" && (
        <Suspense fallback={<Waiting />}>
          <BenchmarkTable rows={rows} selected={new Set(selected)} select={select} made={waitFor} />
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
          <AddBenchmark key={search.from ?? 0} pid={pid} from={search.from} close={() => go({ add: undefined, from: undefined })} started={started} />
        )}
      </Suspense>
    </Page>
  );
}

function Waiting() {
  return (
    <Stack gap="md">
      <Skeleton height={320} />
      <Skeleton height={320} />
    </Stack>
  );
}

function remembered(): "cards" | "table" | null {
  const found = localStorage.getItem(LAYOUT);
  return found === "cards" || found === "table" ? found : null;
}

/** Keys of the list: what has the focus is the current one. */
function hear(
  key: string,
  filter: HTMLInputElement | null,
  selected: readonly number[],
  select: (id: number, is: boolean) => void,
  compare: () => void,
): boolean {
  const all = [...document.querySelectorAll<HTMLElement>("[data-benchmark]")];
  const at = all.findIndex((one) => one.contains(document.activeElement));
  const current = all[at];
  const id = Number(current?.dataset.benchmark);
  switch (key) {
    case "/":
      filter?.focus();
      return true;
    case "j":
    case "k": {
      const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + (key === "j" ? 1 : -1)))];
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
