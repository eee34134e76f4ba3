import { Box, Modal, Text, TextInput, UnstyledButton, useMantineColorScheme } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";

import { benchmarksQuery, projectsQuery } from "@/api/queries";
import { PROJECT_PAGES } from "@/app/projectPages";
import { hitsFor, type Hit } from "@/app/hits";

const GLOBAL_PAGES = [
  ["/", "All projects"],
  ["/queue", "Queue"],
  ["/system", "System"],
  ["/settings", "Settings"],
] as const;

/** Type a few letters, press Enter: the first hit opens. Arrows choose another one. */
export function Palette({ close }: { close: () => void }) {
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const hits = hitsFor(typed, useHits(typed));
  const selectedIndex = Math.min(chosen, hits.length - 1);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [selectedIndex]);
  const choose = (hit: Hit | undefined) => {
    if (!hit) return;
    close();
    hit.act();
  };
  const handleKey = (key: string): boolean => {
    if (key === "ArrowDown") setChosen(Math.min(selectedIndex + 1, hits.length - 1));
    else if (key === "ArrowUp") setChosen(Math.max(selectedIndex - 1, 0));
    else if (key === "Enter") choose(hits[selectedIndex]);
    else return false;
    return true;
  };
  return (
    <Modal opened onClose={close} title="Search" size="lg" yOffset="8dvh">
      <TextInput
        data-autofocus
        role="combobox"
        aria-label="Search pages, projects, benchmarks and actions"
        aria-expanded
        aria-controls="palette-hits"
        aria-activedescendant={hits[selectedIndex] && `hit-${hits[selectedIndex].id}`}
        placeholder="Pages, projects, benchmarks, actions"
        leftSection={<IconSearch size={16} />}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={(event) => {
          if (handleKey(event.key)) event.preventDefault();
        }}
      />
      <Box ref={list} id="palette-hits" role="listbox" aria-label="Hits" mt="xs" mah="50dvh" style={{ overflowY: "auto" }}>
        {hits.map((hit, index) => (
          <UnstyledButton
            key={hit.id}
            id={`hit-${hit.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === selectedIndex}
            className="hit"
            onClick={() => choose(hit)}
          >
            <Text size="sm" span truncate>
              {hit.label}
            </Text>
            <Text size="xs" span className="dim" truncate>
              {hit.more ?? hit.group}
            </Text>
          </UnstyledButton>
        ))}
      </Box>
      {hits.length === 0 && (
        <Text size="sm" className="dim" py="sm" role="status">
          No matches. Try fewer letters.
        </Text>
      )}
    </Modal>
  );
}

/** Everything that the palette searches. The server searches benchmarks, as there may be thousands. */
function useHits(typed: string): Hit[] {
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const pid = useRouterState({ select: (state) => /^\/p\/(\d+)/.exec(state.location.pathname)?.[1] });
  const text = useDebounced(typed.trim());
  const projects = useInfiniteQuery(projectsQuery());
  const benchmarks = useInfiniteQuery(benchmarksQuery({ text: text || undefined, limit: 20 }));
  const go = (to: string) => () => void navigate({ to });
  const rows = projects.data?.pages.flatMap((page) => page.items) ?? [];
  const names = new Map(rows.map((project) => [project.id, project.name]));
  const projectHits = pid
    ? PROJECT_PAGES.map(({ path, label, fullName }) => ({ id: `in-${path}`, group: "This project", label: fullName ?? label, act: go(`/p/${pid}/${path}`) }))
    : [];
  const actions: Hit[] = [
    { id: "new", group: "Actions", label: "New project", act: go("/new") },
    { id: "light", group: "Actions", label: "Light theme", act: () => setColorScheme("light") },
    { id: "dark", group: "Actions", label: "Dark theme", act: () => setColorScheme("dark") },
  ];
  if (pid) {
    const add = () => void navigate({ to: "/p/$pid/benchmarks", params: { pid: Number(pid) }, search: { add: true } });
    actions.unshift({ id: "add", group: "Actions", label: "Add benchmark", act: add });
  }
  return [
    ...projectHits,
    ...GLOBAL_PAGES.map(([to, label]) => ({ id: `at-${label}`, group: "Pages", label, act: go(to) })),
    ...actions,
    ...rows.map((project) => ({ id: `p-${project.id}`, group: "Project", label: project.name, act: go(`/p/${project.id}`) })),
    ...(benchmarks.data?.pages[0]?.items ?? []).map((benchmark) => ({
      id: `b-${benchmark.id}`,
      group: "Benchmark",
      label: benchmark.name,
      more: `Benchmark ${benchmark.id} · ${names.get(benchmark.project_id) ?? `project ${benchmark.project_id}`}`,
      act: go(`/p/${benchmark.project_id}/benchmarks/${benchmark.id}`),
    })),
  ];
}

/** The value, once it stays the same for a moment: not every letter sends a request. */
function useDebounced(value: string): string {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), 150);
    return () => clearTimeout(timer);
  }, [value]);
  return debounced;
}
