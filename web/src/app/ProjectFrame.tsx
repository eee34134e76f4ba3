import { Skeleton, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Outlet, useNavigate, useParams, useRouterState } from "@tanstack/react-router";
import { Suspense, lazy, useEffect, useRef } from "react";

import { projectQuery } from "@/api/queries";
import { Trouble } from "@/ui/Trouble";

const TABS = [
  ["overview", "Overview"],
  ["models", "Models"],
  ["benchmarks", "Benchmarks"],
  ["compare", "Compare"],
  ["profiles", "Profiles"],
  ["notes", "Notes"],
  ["settings", "Settings"],
] as const;

/** What a tab holds, as the server counts it. */
const COUNTED: Record<string, string> = { models: "model", benchmarks: "benchmark", profiles: "profile" };

const DEMO = "Demo"; // as the server calls the project that it brings along
const Tour = lazy(() => import("@/features/project/Tour").then((found) => ({ default: found.Tour })));

/** The tabs of a project, and the page below them. */
export function ProjectFrame() {
  const { pid } = useParams({ from: "/p/$pid" });
  const navigate = useNavigate();
  const place = useRouterState({ select: (state) => state.location.pathname.split("/")[3] || "overview" });
  const project = useQuery(projectQuery(pid));
  const tabs = useRef<HTMLDivElement>(null);
  // On a phone they do not all fit: the one that is open does, also when the window becomes narrow or counts arrive.
  useEffect(() => {
    const list = tabs.current;
    if (!list) return;
    const show = () => bringToSight(list);
    const observer = new ResizeObserver(show);
    for (const one of [list, ...list.children]) observer.observe(one);
    return () => observer.disconnect();
  }, [place, project.isError]);
  if (project.isError) return <Trouble error={project.error} again={() => void project.refetch()} />;
  return (
    <>
      <Tabs value={place} onChange={(tab) => void navigate({ to: `/p/${pid}/${tab === "overview" ? "" : (tab ?? "")}` })} mb="md" activateTabWithKeyboard={false}>
        <Tabs.List ref={tabs} style={{ flexWrap: "nowrap", overflowX: "auto", overflowY: "hidden" }} aria-label="Pages of this project">
          {TABS.map(([path, name]) => (
            <Tabs.Tab key={path} value={path}>
              {name}
              <Count n={project.data?.counts[COUNTED[path] ?? ""]} />
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      {project.data?.name === DEMO && (
        <Suspense>
          <Tour pid={pid} />
        </Suspense>
      )}
      {project.isPending ? <Skeleton height={240} /> : <Outlet />}
    </>
  );
}

/** Scrolls the list only: the page stays where its reader is. */
function bringToSight(list: HTMLElement): void {
  const open = list.querySelector<HTMLElement>("[aria-selected=true]");
  if (open) list.scrollLeft = open.offsetLeft - list.offsetLeft - (list.clientWidth - open.offsetWidth) / 2;
}

function Count({ n }: { n: number | undefined }) {
  if (!n) return null;
  return (
    <Text span size="sm" className="dim" ml={6}>
      {n}
    </Text>
  );
}
