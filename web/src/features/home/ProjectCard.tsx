import { Anchor, Card, Group, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import type { ProjectTold } from "@/api/schema.gen";
import { Ago } from "@/ui/Ago";

export function ProjectCard({ project }: { project: ProjectTold }) {
  return (
    <Card component="article" aria-label={project.name}>
      <Stack gap={4}>
        <Anchor component={Link} to={`/p/${project.id}`} fw={650} size="lg" style={{ overflowWrap: "anywhere" }}>
          {project.name}
        </Anchor>
        <Group gap="xs">
          <Text size="sm" className="dim">
            made
          </Text>
          <Ago at={project.created_at} />
        </Group>
      </Stack>
    </Card>
  );
}
