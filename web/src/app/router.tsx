import { noop } from "@tanstack/react-query";
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";

import { queries } from "@/api/cache";
import { graphQuery, graphViewQuery, modelQuery, projectQuery } from "@/api/queries";
import { KindPage } from "@/app/KindPage";
import { NotFound } from "@/app/NotFound";
import { ProjectFrame } from "@/app/ProjectFrame";
import { Shell } from "@/app/Shell";
import * as search from "@/app/search";
import { HomePage } from "@/features/home/HomePage";
import { Trouble } from "@/ui/Trouble";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });
const atRoot = <P extends string>(path: P) => ({ path, getParentRoute: () => root });

const home = createRoute({
  ...atRoot("/"),
  validateSearch: search.home,
  component: HomePage, // the first page: nothing more to wait for
});
const newProject = createRoute({
  ...atRoot("/new"),
  validateSearch: search.newProject,
  component: lazyRouteComponent(() => import("@/features/home/NewProjectPage"), "NewProjectPage"),
});
const queue = createRoute({ ...atRoot("/queue"), component: lazyRouteComponent(() => import("@/features/queue/QueuePage"), "QueuePage") });
const system = createRoute({ ...atRoot("/system"), component: lazyRouteComponent(() => import("@/features/system/SystemPage"), "SystemPage") });
const settings = createRoute({
  ...atRoot("/settings"),
  component: lazyRouteComponent(() => import("@/features/settings/SettingsPage"), "SettingsPage"),
});

const project = createRoute({
  ...atRoot("/p/$pid"),
  params: { parse: ({ pid }) => ({ pid: Number(pid) }), stringify: ({ pid }) => ({ pid: String(pid) }) },
  // Not waited for: the answers of the server come while the scripts of the page do.
  loader: ({ params: { pid } }) => void queries.query(projectQuery(pid)).catch(noop),
  component: ProjectFrame,
});
const inProject = <P extends string>(path: P) => ({ path, getParentRoute: () => project });

const overview = createRoute({ ...inProject("/"), component: lazyRouteComponent(() => import("@/features/project/OverviewPage"), "OverviewPage") });
const models = createRoute({
  ...inProject("/models"),
  validateSearch: search.models,
  component: lazyRouteComponent(() => import("@/features/models/ModelsPage"), "ModelsPage"),
});
const model = createRoute({
  ...inProject("/models/$mid"),
  params: { parse: ({ mid }) => ({ mid: Number(mid) }), stringify: ({ mid }) => ({ mid: String(mid) }) },
  component: lazyRouteComponent(() => import("@/features/models/ModelPage"), "ModelPage"),
});
const graph = createRoute({
  ...inProject("/models/$mid/graph"),
  params: { parse: ({ mid }) => ({ mid: Number(mid) }), stringify: ({ mid }) => ({ mid: String(mid) }) },
  validateSearch: search.graph,
  loaderDeps: ({ search: { expand } }) => ({ isFirstLook: expand === undefined }),
  loader: ({ params: { mid }, deps: { isFirstLook } }) => {
    void queries.query(modelQuery(mid)).catch(noop);
    void queries.query(graphQuery(mid)).catch(noop);
    if (isFirstLook) void queries.query(graphViewQuery(mid, {})).catch(noop);
  },
  component: lazyRouteComponent(() => import("@/features/graph/GraphPage"), "GraphPage"),
});
const benchmarks = createRoute({
  ...inProject("/benchmarks"),
  validateSearch: search.benchmarks,
  component: lazyRouteComponent(() => import("@/features/benchmarks/BenchmarksPage"), "BenchmarksPage"),
});
const benchmark = createRoute({
  ...inProject("/benchmarks/$bid"),
  params: { parse: ({ bid }) => ({ bid: Number(bid) }), stringify: ({ bid }) => ({ bid: String(bid) }) },
  validateSearch: search.benchmark,
  component: lazyRouteComponent(() => import("@/features/benchmarks/BenchmarkPage"), "BenchmarkPage"),
});
const compare = createRoute({
  ...inProject("/compare"),
  validateSearch: search.compare,
  component: lazyRouteComponent(() => import("@/features/compare/ComparePage"), "ComparePage"),
});
const profiles = createRoute({
  ...inProject("/profiles"),
  validateSearch: search.profiles,
  component: lazyRouteComponent(() => import("@/features/profiles/ProfilesPage"), "ProfilesPage"),
});
const profile = createRoute({
  ...inProject("/profiles/$fid"),
  params: { parse: ({ fid }) => ({ fid: Number(fid) }), stringify: ({ fid }) => ({ fid: String(fid) }) },
  validateSearch: search.profile,
  component: lazyRouteComponent(() => import("@/features/profiles/ProfilePage"), "ProfilePage"),
});
const notes = createRoute({ ...inProject("/notes"), component: lazyRouteComponent(() => import("@/features/notes/NotesPage"), "NotesPage") });
const projectSettings = createRoute({
  ...inProject("/settings"),
  component: lazyRouteComponent(() => import("@/features/project/ProjectSettingsPage"), "ProjectSettingsPage"),
});

const kind = createRoute({
  ...inProject("/$kind/$id"),
  params: { parse: ({ kind, id }) => ({ kind, id: Number(id) }), stringify: ({ kind, id }) => ({ kind, id: String(id) }) },
  component: KindPage,
});

export const router = createRouter({
  routeTree: root.addChildren([
    home,
    newProject,
    queue,
    system,
    settings,
    project.addChildren([overview, models, model, graph, benchmarks, benchmark, compare, profiles, profile, notes, projectSettings, kind]),
  ]),
  parseSearch: search.parseSearch,
  stringifySearch: search.stringifySearch,
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultErrorComponent: ({ error, reset }) => <Trouble error={error} retry={reset} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
