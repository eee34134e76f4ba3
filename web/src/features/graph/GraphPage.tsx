import {
  Anchor,
  Box,
  Breadcrumbs,
  Button,
  Flex,
  Group,
  Menu,
  Modal,
  SegmentedControl,
  Select,
  Skeleton,
  Stack,
  Text,
  Tooltip,
  useComputedColorScheme,
} from "@mantine/core";
import { keepPreviousData, noop, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { graphQuery, graphViewQuery, modelQuery } from "@/api/queries";
import type { NodeDocument } from "@/api/parts";
import { saveAddress, saveText } from "@/charts/saving";
import { Canvas, type View } from "@/features/graph/Canvas";
import { byTime, byType, type Paint } from "@/features/graph/colouring";
import { nodeFinderOf } from "@/features/graph/nodeTimes";
import { startLayout } from "@/features/graph/layout";
import { Legend } from "@/features/graph/Legend";
import { NodeSearch } from "@/features/graph/NodeSearch";
import { NodeTable } from "@/features/graph/NodeTable";
import { viewQuery, parseOpened, formatOpened, withClosed, withOpen, type Opened } from "@/features/graph/opened";
import { useScene } from "@/features/graph/scene";
import { SidePanel } from "@/features/graph/SidePanel";
import { sceneSvg, svgToPng } from "@/features/graph/svg";
import { useTimes } from "@/features/graph/times";
import { count, plural } from "@/format/numbers";
import { Caution } from "@/ui/Caution";
import { Page } from "@/ui/Page";
import { usePageKeys } from "@/ui/pageKeys";
import { Trouble } from "@/ui/Trouble";

const NONE: NodeDocument[] = [];
const NO_SCOPES: string[] = [];
const MANY = 2000; // boxes that take a while to draw
const FROM = "/p/$pid/models/$mid/graph" as const;

export function GraphPage() {
  const { pid, mid } = useParams({ from: FROM });
  const search = useSearch({ from: FROM });
  const navigate = useNavigate({ from: FROM });
  const cache = useQueryClient();
  const isDark = useComputedColorScheme("light", { getInitialValueInEffect: false }) === "dark";

  const opened = useMemo(() => parseOpened(search.expand), [search.expand]);
  const model = useQuery(modelQuery(mid));
  const view = useQuery({ ...graphViewQuery(mid, viewQuery(opened)), placeholderData: keepPreviousData });
  const graph = useQuery(graphQuery(mid));
  const findNode = useMemo(() => (graph.data ? nodeFinderOf(graph.data) : null), [graph.data]);
  const timing = useTimes(pid, mid, search.profile, findNode, graph.data?.nodes);
  const times = search.color === "time" ? timing.times : null;
  const { scene, isLaying } = useScene(view.data, times);
  useEffect(() => {
    startLayout();
  }, []);

  const canvas = useRef<View | null>(null);
  const steady = useRef<string | null>(null);
  const takeSteady = useCallback(() => {
    const id = steady.current;
    steady.current = null;
    return id;
  }, []);
  const input = useRef<HTMLInputElement>(null);
  const pendingBox = useRef<string | null>(null); // a box to come into view once it is there
  const [isAsking, setAsking] = useState(false);

  type Change = Partial<typeof search>;
  const change = useCallback((to: Change, replace = true) => void navigate({ search: (old) => ({ ...old, ...to }), replace, resetScroll: false }), [navigate]);
  const setOpened = useCallback((to: Opened, more: Change = {}) => change({ expand: formatOpened(to), ...more }, false), [change]);

  // The address has the name of a node, or "group:…" and the like.
  const named = search.node;
  const isBox = named !== undefined && /^(group|input|output):/.test(named);
  const namedNode = named !== undefined && !isBox ? (findNode?.(named) ?? null) : null;
  const selected = named === undefined ? null : isBox ? named : namedNode ? `node:${namedNode.id}` : null;
  const isUnknownNode = named !== undefined && !isBox && findNode !== null && namedNode === null;
  const place = namedNode ? namedNode.scope : selected?.startsWith("group:") ? selected.slice(6) : "";
  const last =
    selected === null || selected.startsWith("group:")
      ? null
      : namedNode
        ? namedNode.id.slice(namedNode.id.lastIndexOf("/") + 1)
        : selected.slice(selected.indexOf(":") + 1);
  const expanded = view.data?.expanded;

  const select = useCallback((id: string | null) => change({ node: id === null ? undefined : id.startsWith("node:") ? id.slice(5) : id }), [change]);
  const toggle = useCallback(
    (scope: string, isOpen: boolean) => {
      steady.current = `group:${scope}`;
      const next = isOpen ? withClosed(opened, expanded ?? [], scope) : withOpen(opened, expanded ?? [], scope);
      setOpened(next, { node: `group:${scope}` });
    },
    [opened, expanded, setOpened],
  );
  const near = useCallback(
    (scope: string) => void cache.query(graphViewQuery(mid, viewQuery(withOpen(opened, expanded ?? [], scope)))).catch(noop),
    [cache, mid, opened, expanded],
  );
  const collapse = useCallback((scope: string) => setOpened(withClosed(opened, expanded ?? [], scope)), [opened, expanded, setOpened]);
  const setText = useCallback((q: string) => change({ q: q === "" ? undefined : q }), [change]);
  const goTo = useCallback(
    (id: string | null) => {
      select(id);
      if (id !== null && canvas.current && scene?.rects.has(id)) canvas.current.show(id);
      else pendingBox.current = id;
    },
    [select, scene],
  );
  const reveal = useCallback(
    (id: string) => {
      pendingBox.current = `node:${id}`;
      change({ node: id, view: undefined }, false);
    },
    [change],
  );

  // Opens the groups around a node that the address names.
  const revealedNode = useRef<string | null>(null);
  useEffect(() => {
    if (!namedNode || !view.data || view.isPlaceholderData || revealedNode.current === named) return;
    revealedNode.current = named ?? null;
    if (view.data.boxes.some((box) => box.id === `node:${namedNode.id}`)) return;
    pendingBox.current = `node:${namedNode.id}`;
    change({ expand: formatOpened(withOpen(opened, view.data.expanded, namedNode.scope)) });
  }, [namedNode, named, view.data, view.isPlaceholderData, opened, change]);
  // Scrolls to what the address named when the page opened, once; later selections do not move the view.
  const hasShownNamed = useRef(named === undefined);
  useEffect(() => {
    if (hasShownNamed.current || selected === null || !scene?.rects.has(selected)) return;
    hasShownNamed.current = true;
    pendingBox.current = selected;
  }, [selected, scene]);
  const isTable = search.view === "table";
  useEffect(() => {
    const id = pendingBox.current;
    if (id === null || !canvas.current || !scene?.rects.has(id)) return;
    pendingBox.current = null;
    canvas.current.show(id);
  }, [scene, selected, isTable]);

  const hearKey = useCallback((key: string) => {
    if (key !== "/") return false;
    input.current?.focus();
    return true;
  }, []);
  usePageKeys(hearKey);

  const paint: Paint = useMemo(() => (times && scene ? byTime(times, scene.boxes, isDark) : byType(isDark)), [times, scene, isDark]);
  const name = model.data?.name ?? "Model";
  const save = async (format: "svg" | "png") => {
    if (!scene) return;
    const svg = sceneSvg(scene, times ? byTime(times, scene.boxes, false) : byType(false), `Graph of ${name}`);
    if (format === "svg") saveText(`${name}.graph.svg`, svg, "image/svg+xml");
    else saveAddress(`${name}.graph.png`, await svgToPng(svg, scene.width, scene.height));
  };
  const all = graph.data ? graph.data.nodes.length + graph.data.inputs.length + graph.data.outputs.length : 0;
  const expandAll = () => setOpened({ kind: "all", except: [] });
  const trouble = view.error ?? graph.error;

  return (
    <Page
      title={`Graph of ${name}`}
      actions={
        <Anchor component={Link} to={`/p/${pid}/models/${mid}`} size="sm">
          Back to the model
        </Anchor>
      }
    >
      {trouble && <Trouble error={trouble} retry={() => void Promise.all([view.refetch(), graph.refetch()])} />}
      {isUnknownNode && (
        <Caution title={`“${named}” is not in the model file`} close={() => select(null)}>
          The engine created this node when it loaded the model: by fusing nodes, or to change the memory layout of data.
        </Caution>
      )}
      {!trouble && (
        <>
          <Group gap="sm">
            <NodeSearch nodes={graph.data?.nodes ?? NONE} text={search.q ?? ""} setText={setText} open={reveal} input={input} />
            <Select
              aria-label="Colour"
              w={150}
              data={[
                { value: "type", label: "Colour: type" },
                { value: "time", label: "Colour: time", disabled: timing.profiles.length === 0 },
              ]}
              value={search.color ?? "type"}
              allowDeselect={false}
              onChange={(value) => change({ color: value === "time" ? "time" : undefined })}
            />
            {search.color === "time" && timing.profiles.length > 0 && (
              <Select
                aria-label="Profile"
                w={220}
                data={timing.profiles.map((profile) => ({ value: String(profile.id), label: `#${profile.id} ${profile.name}` }))}
                value={timing.id === null ? null : String(timing.id)}
                allowDeselect={false}
                onChange={(value) => change({ profile: value === null ? undefined : Number(value) })}
              />
            )}
            {timing.isReady && timing.profiles.length === 0 && (
              <Text size="sm" className="dim">
                No times yet:{" "}
                <Anchor component={Link} to={`/p/${pid}/profiles`} size="sm">
                  profile this model
                </Anchor>
              </Text>
            )}
            <SegmentedControl
              aria-label="Show as"
              data={[
                { value: "graph", label: "Graph" },
                { value: "table", label: "Table" },
              ]}
              value={isTable ? "table" : "graph"}
              onChange={(value) => change({ view: value === "table" ? "table" : undefined })}
            />
          </Group>
          {isTable ? (
            graph.data ? (
              <NodeTable graph={graph.data} times={timing.times} text={search.q ?? ""} open={reveal} />
            ) : (
              <Skeleton height={520} />
            )
          ) : (
            <>
              <Group justify="space-between" gap="sm">
                <Where name={name} scope={place} last={last} select={goTo} />
                <Group gap="xs">
                  <Text size="sm" className="dim" role="status">
                    {graph.data ? `${plural(graph.data.nodes.length, "node")} · ` : ""}
                    {scene ? `${count(scene.boxes.length)} shown` : "laying out…"}
                  </Text>
                  <Tooltip label="Fit to view (0)">
                    <Button size="compact-sm" variant="default" onClick={() => canvas.current?.fit()}>
                      Fit
                    </Button>
                  </Tooltip>
                  <Button size="compact-sm" variant="default" disabled={!graph.data} onClick={() => (all > MANY ? setAsking(true) : expandAll())}>
                    Expand all
                  </Button>
                  <Button size="compact-sm" variant="default" onClick={() => setOpened({ kind: "some", scopes: [] })}>
                    Collapse all
                  </Button>
                  <Menu position="bottom-end">
                    <Menu.Target>
                      <Button size="compact-sm" variant="default">
                        Save
                      </Button>
                    </Menu.Target>
                    <Menu.Dropdown>
                      <Menu.Item onClick={() => void save("png")}>PNG</Menu.Item>
                      <Menu.Item onClick={() => void save("svg")}>SVG</Menu.Item>
                    </Menu.Dropdown>
                  </Menu>
                </Group>
              </Group>
              <Flex gap="md" direction={{ base: "column", md: "row" }} align="stretch">
                <Box flex={1} miw={0} aria-busy={isLaying}>
                  {scene ? (
                    <Canvas
                      label={`Graph of ${name}`}
                      scene={scene}
                      paint={paint}
                      selected={selected}
                      select={select}
                      toggle={toggle}
                      near={near}
                      takeSteady={takeSteady}
                      view={canvas}
                    />
                  ) : (
                    <Skeleton height={520} />
                  )}
                </Box>
                <Box w={{ base: "100%", md: 300 }} flex="none">
                  {graph.data ? (
                    <SidePanel
                      graph={graph.data}
                      selected={selected}
                      expanded={expanded ?? NO_SCOPES}
                      times={timing.times}
                      select={goTo}
                      toggle={toggle}
                      collapse={collapse}
                    />
                  ) : (
                    <Skeleton height={240} />
                  )}
                </Box>
              </Flex>
              <Legend times={times} isDark={isDark} />
              <Text size="xs" className="dim" id="graph-keys">
                Keys: arrow keys follow edges, Enter opens a group, Backspace closes the surrounding one, / searches, + and − zoom, 0 shows everything.
              </Text>
            </>
          )}
        </>
      )}
      <Modal opened={isAsking} onClose={() => setAsking(false)} title={`Draw ${count(all)} boxes?`}>
        <Stack>
          <Text size="sm">That takes a while and is hard to read. Searching opens only the groups around a node.</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setAsking(false)}>
              Cancel
            </Button>
            <Button
              onClick={() => {
                setAsking(false);
                expandAll();
              }}
            >
              Expand all
            </Button>
          </Group>
        </Stack>
      </Modal>
    </Page>
  );
}

type Place = { name: string; scope: string; last: string | null; select: (id: string | null) => void };

/** The groups around what is selected, from the model inwards. */
function Where({ name, scope, last, select }: Place) {
  const parts = scope === "" ? [] : scope.split("/");
  return (
    <Breadcrumbs separator="▸" aria-label="Location" component="nav" style={{ flexWrap: "wrap" }}>
      <Anchor component="button" type="button" size="sm" onClick={() => select(null)}>
        {name}
      </Anchor>
      {parts.map((part, index) => (
        <Anchor key={index} component="button" type="button" size="sm" onClick={() => select(`group:${parts.slice(0, index + 1).join("/")}`)}>
          {part}
        </Anchor>
      ))}
      {last !== null && (
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {last}
        </Text>
      )}
    </Breadcrumbs>
  );
}
