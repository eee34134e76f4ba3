import { Button, Code, Group, NativeSelect, ScrollArea, Stack, Switch, Text, TextInput } from "@mantine/core";
import { useEffect, useMemo, useRef, useState } from "react";

import { Refused, api } from "@/api/client";
import { useJobProgress } from "@/api/progress";
import type { LatestRunSummary } from "@/api/schema.gen";
import { saveText } from "@/charts/saving";
import { LEAST, LEAST_WORDS, filterByLevel, withoutGpuLines, type Least } from "@/features/benchmarks/running/logLevels";
import { plural } from "@/format/numbers";
import { Trouble } from "@/ui/Trouble";

const PIECE = 1 << 18;

/** What the workers printed: live while it runs. */
export function LogTab({ run, isCpu }: { run: LatestRunSummary; isCpu: boolean }) {
  const { text, error } = useLog(run);
  const [searchText, setSearchText] = useState("");
  const [least, setLeast] = useState<Least>("all");
  const [isFollowing, setFollowing] = useState(true);
  const [isWrapped, setWrapped] = useState(true);
  const view = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => {
    const printed = text.split("\n");
    const all = filterByLevel(isCpu ? withoutGpuLines(printed) : printed, least);
    return searchText ? all.filter((line) => line.toLowerCase().includes(searchText.toLowerCase())) : all;
  }, [text, searchText, least, isCpu]);
  useEffect(() => {
    if (isFollowing && view.current) view.current.scrollTop = view.current.scrollHeight;
  }, [lines, isFollowing]);
  // Scrolling up stops following.
  const onScroll = () => {
    const viewport = view.current;
    if (viewport) setFollowing(viewport.scrollTop + viewport.clientHeight >= viewport.scrollHeight - 24);
  };
  if (error) return <Trouble error={error} />;
  return (
    <Stack gap="xs">
      <Group gap="sm">
        <TextInput placeholder="Search the log" aria-label="Search the log" value={searchText} onChange={(event) => setSearchText(event.currentTarget.value)} />
        <NativeSelect
          aria-label="Level"
          value={least}
          data={LEAST_WORDS}
          onChange={(event) => setLeast(LEAST.find((level) => level === event.currentTarget.value) ?? "all")}
        />
        <Switch label="Follow" checked={isFollowing} onChange={(event) => setFollowing(event.currentTarget.checked)} />
        <Switch label="Wrap" checked={isWrapped} onChange={(event) => setWrapped(event.currentTarget.checked)} />
        <Button variant="default" size="xs" onClick={() => saveText(`run-${run.number}.log`, text, "text/plain")}>
          Download
        </Button>
        {(searchText || least !== "all") && (
          <Text size="sm" className="dim">
            {lines.length === 0 ? "no lines" : plural(lines.length, "line")} of {plural(text.split("\n").length, "line")}
          </Text>
        )}
      </Group>
      {text.trim() === "" ? (
        <Text className="dim">Nothing was printed{run.state === "running" || run.state === "queued" ? " yet" : ""}.</Text>
      ) : (
        <ScrollArea.Autosize
          mah={520}
          viewportRef={view}
          onScrollPositionChange={onScroll}
          viewportProps={{ tabIndex: 0, role: "log", "aria-label": "Log", "aria-live": "off" }}
        >
          <Code block style={{ whiteSpace: isWrapped ? "pre-wrap" : "pre", overflowWrap: isWrapped ? "anywhere" : "normal" }}>
            {lines.join("\n")}
          </Code>
        </ScrollArea.Autosize>
      )}
    </Stack>
  );
}

/** The log from its beginning, and its new lines: requested when the job reports progress. */
function useLog(run: LatestRunSummary): { text: string; error: unknown } {
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>(null);
  const offset = useRef(0);
  const unitsDone = useJobProgress(run.job_id)?.units_done;
  useEffect(() => {
    let isUnmounted = false;
    const read = async () => {
      for (;;) {
        const { data, response } = await api.GET("/api/v1/runs/{run_id}/log", {
          params: { path: { run_id: run.id }, query: { offset: offset.current, limit: PIECE } },
          parseAs: "text",
        });
        if (isUnmounted) return;
        if (!response.ok) throw new Refused(response.status, { title: "The log cannot be read" });
        const next = Number(response.headers.get("X-Next-Offset"));
        if (!data || next <= offset.current) return;
        offset.current = next;
        setText((before) => before + data);
      }
    };
    read().catch((reason: unknown) => isUnmounted || setError(reason));
    return () => {
      isUnmounted = true;
    };
  }, [run.id, run.state, unitsDone]);
  return { text, error };
}
