import { Card, SimpleGrid, Title } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";

import { ModelSource } from "@/features/home/ModelSource";
import { TryDemo } from "@/features/home/TryDemo";
import { useModelImport } from "@/features/home/useModelImport";

/** The two ways to begin. */
export function FirstRun() {
  const navigate = useNavigate();
  const bring = useModelImport((model) => void navigate({ to: "/new", search: { project: model.project_id, model: model.id } }));
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <TryDemo />
      <Card component="section" aria-label="Add a model" h="100%">
        <Title order={2} size="h4" mb="xs">
          Add a model
        </Title>
        <ModelSource bring={bring} />
      </Card>
    </SimpleGrid>
  );
}
