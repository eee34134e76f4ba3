import { ActionIcon, Menu } from "@mantine/core";
import { IconDotsVertical, IconDownload, IconSitemap, IconTrash } from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";

import { api, answerOf } from "@/api/client";
import type { ModelSummary } from "@/api/schema.gen";
import { removeSoon } from "@/ui/undo";

export function ModelMenu({ model, onRemoved }: { model: ModelSummary; onRemoved?: () => void }) {
  const navigate = useNavigate();
  const path = { model_id: model.id };
  const remove = () => {
    removeSoon(`model ${model.id}`, `${model.name} and what was measured with it`, () =>
      answerOf(api.DELETE("/api/v1/models/{model_id}", { params: { path, query: { cascade: true } } })),
    );
    onRemoved?.();
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Menu of ${model.name}`}>
          <IconDotsVertical size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconSitemap size={14} />} component={Link} to={`/p/${model.project_id}/models/${model.id}/graph`}>
          Open the graph
        </Menu.Item>
        <Menu.Item onClick={() => void navigate({ to: "/p/$pid/benchmarks", params: { pid: model.project_id }, search: { add: true } })}>
          Add benchmark
        </Menu.Item>
        <Menu.Item leftSection={<IconDownload size={14} />} component="a" href={`/api/v1/models/${model.id}/file`} download>
          Download
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item color="red" leftSection={<IconTrash size={14} />} onClick={remove}>
          Remove
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
