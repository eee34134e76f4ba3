import { Skeleton, Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Outlet, useNavigate, useParams, useRouterState } from "@tanstack/react-router";
import { Suspense, lazy } from "react";

import { projectQuery } from "@/api/queries";
import { PROJECT_PAGES } from "@/app/projectPages";
import { ScrollingTabs } from "@/ui/ScrollingTabs";
import { Trouble } from "@/ui/Trouble";

const FIRST = "overview"; // a tab needs a name, its address has none
const DEMO = "Demo"; // as the server calls the project that it brings along
const Tour = lazy(() => import("@/features/project/Tour").then((module) => ({ default: module.Tour })));

/** The tabs of a project, and the page below them. */
export function ProjectFrame() {
  const { pid } = useParams({ from: "/p/$pid" });
  const navigate = useNavigate();
  const place = useRouterState({ select: (state) => state.location.pathname.split("/")[3] || FIRST });
  const project = useQuery(projectQuery(pid));
  if (project.isError) return <Trouble error={project.error} retry={() => void project.refetch()} />;
  return (
    <>
      <Tabs value={place} onChange={(tab) => void navigate({ to: `/p/${pid}/${tab === FIRST ? "" : (tab ?? "")}` })} mb="md" activateTabWithKeyboard={false}>
        <ScrollingTabs label="Pages of this project" open={place}>
          {PROJECT_PAGES.map(({ path, label, counts }) => (
            <Tabs.Tab key={path} value={path || FIRST}>
              {label}
              <Count n={counts && project.data?.counts[counts]} />
            </Tabs.Tab>
          ))}
        </ScrollingTabs>
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

function Count({ n }: { n: number | "" | undefined }) {
  if (!n) return null;
  return (
    <Text span size="sm" className="dim" ml={6}>
      {n}
    </Text>
  );
}
