import { ActionIcon, Menu, Tooltip } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import {
  IconArrowsDiff,
  IconCopyPlus,
  IconDotsVertical,
  IconDownload,
  IconFlag,
  IconLink,
  IconPlayerStop,
  IconRefresh,
  IconTrash,
  IconTrashX,
} from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { benchmarkQuery } from "@/api/queries";
import type { BenchmarkDetailsDocument } from "@/api/schema.gen";
import { setBaseline } from "@/features/benchmarks/Baseline";
import { moveJob, removeBenchmark, rerun } from "@/features/benchmarks/actions";
import { isActive } from "@/features/benchmarks/states";

type Row = Pick<BenchmarkDetailsDocument, "id" | "name" | "project_id" | "state">;
type Props = { row: Row; onCreated: (id: number) => void; onRemoved?: () => void };

const FORMATS = [
  ["csv", "CSV"],
  ["json", "JSON"],
  ["md", "Markdown"],
  ["html", "HTML"],
] as const;

/** ⋮ of a benchmark. */
export function BenchmarkMenu({ row, onCreated, onRemoved }: Props) {
  const [isOpen, setOpen] = useState(false);
  const navigate = useNavigate();
  // Lists do not say which run is the latest: requested when the menu opens.
  const details = useQuery({ ...benchmarkQuery(row.id), enabled: isOpen });
  const run = details.data?.latest_run;
  const jobId = run?.job_id;
  const params = { pid: row.project_id };
  const remove = () => {
    removeBenchmark(row);
    onRemoved?.();
  };
  return (
    <Menu position="bottom-end" opened={isOpen} onChange={setOpen} withinPortal>
      <Menu.Target>
        <Tooltip label="More">
          <ActionIcon variant="subtle" color="gray" aria-label={`Menu of benchmark ${row.id}`} data-menu>
            <IconDotsVertical size={18} />
          </ActionIcon>
        </Tooltip>
      </Menu.Target>
      <Menu.Dropdown>
        {isActive(row.state) && jobId != null && (
          <>
            <Menu.Item leftSection={<IconPlayerStop size={16} />} onClick={() => void moveJob(jobId, "cancel")}>
              Cancel and keep partial
            </Menu.Item>
            <Menu.Item leftSection={<IconTrashX size={16} />} onClick={() => void moveJob(jobId, "cancel").then((done) => done && remove())}>
              Cancel and discard
            </Menu.Item>
          </>
        )}
        {!isActive(row.state) && (
          <Menu.Item leftSection={<IconRefresh size={16} />} onClick={() => void rerun(row.id).then((benchmark) => benchmark && onCreated(benchmark.id))}>
            Re-run Benchmark
          </Menu.Item>
        )}
        <Menu.Item
          leftSection={<IconCopyPlus size={16} />}
          onClick={() => void navigate({ to: "/p/$pid/benchmarks", params, search: { add: true, from: row.id } })}
        >
          Duplicate and edit
        </Menu.Item>
        <Menu.Item leftSection={<IconFlag size={16} />} disabled={row.state !== "done"} onClick={() => void setBaseline(row.project_id, row.id)}>
          Set as baseline
        </Menu.Item>
        <Menu.Item leftSection={<IconArrowsDiff size={16} />} onClick={() => void navigate({ to: "/p/$pid/compare", params, search: { a: String(row.id) } })}>
          Compare with…
        </Menu.Item>
        <Menu.Item leftSection={<IconLink size={16} />} onClick={() => copyLink(row)}>
          Copy link
        </Menu.Item>
        <Menu.Sub>
          <Menu.Sub.Target>
            <Menu.Sub.Item leftSection={<IconDownload size={16} />} disabled={!run || isActive(row.state)}>
              Export
            </Menu.Sub.Item>
          </Menu.Sub.Target>
          <Menu.Sub.Dropdown>
            {FORMATS.map(([format, name]) => (
              <Menu.Item key={format} component="a" href={`/api/v1/runs/${run?.id}/export?format=${format}`} download>
                {name}
              </Menu.Item>
            ))}
            <Menu.Item component="a" href={`/api/v1/runs/${run?.id}/samples`} download>
              CSV of every sample
            </Menu.Item>
          </Menu.Sub.Dropdown>
        </Menu.Sub>
        {!isActive(row.state) && (
          <>
            <Menu.Divider />
            <Menu.Item leftSection={<IconTrash size={16} />} color="red" onClick={remove}>
              Remove
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function copyLink(row: Row): void {
  const address = `${window.location.origin}/p/${row.project_id}/benchmarks/${row.id}`;
  navigator.clipboard.writeText(address).then(
    () => notifications.show({ message: "Link copied" }),
    () => notifications.show({ color: "red", title: "Not copied", message: address }),
  );
}
