import { ActionIcon, Menu } from "@mantine/core";
import { IconDotsVertical } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";

import type { ProfileSummary } from "@/api/schema.gen";
import { removeProfile, runProfile } from "@/features/profiles/actions";

type Props = { profile: Pick<ProfileSummary, "id" | "name" | "project_id" | "model_id" | "state">; removed?: () => void };

export function ProfileMenu({ profile, removed }: Props) {
  const isBusy = profile.state === "queued" || profile.state === "running";
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`Menu of profile ${profile.id}`}>
          <IconDotsVertical size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item disabled={isBusy} onClick={() => void runProfile(profile.id)}>
          Run again
        </Menu.Item>
        <Menu.Item component={Link} to={`/p/${profile.project_id}/models/${profile.model_id}/graph?color=time&profile=${profile.id}`}>
          Show in the graph
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item
          color="red"
          disabled={isBusy}
          onClick={() => {
            removeProfile(profile.id, profile.name);
            removed?.();
          }}
        >
          Remove
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
