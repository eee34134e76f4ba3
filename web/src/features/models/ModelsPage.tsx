import { Anchor, Badge, Button, Card, Group, SegmentedControl, Skeleton, Stack, Text } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";

import { modelsQuery } from "@/api/queries";
import type { ModelSummary } from "@/api/schema.gen";
import { ModelMenu } from "@/features/models/ModelMenu";
import { ModelState } from "@/features/models/ModelState";
import { ORIGINS, sortModels, type Sorting } from "@/features/models/sorting";
import { bytes } from "@/format/numbers";
import { formatName } from "@/format/words";
import { Ago } from "@/ui/Ago";
import { Empty } from "@/ui/Empty";
import { Page } from "@/ui/Page";
import { Trouble } from "@/ui/Trouble";
import { usePendingRemovals } from "@/ui/undo";

export function ModelsPage() {
  const { pid } = useParams({ from: "/p/$pid/models" });
  const { sort } = useSearch({ from: "/p/$pid/models" });
  const navigate = useNavigate();
  const pendingRemovals = usePendingRemovals();
  const models = useQuery(modelsQuery(pid));
  const by: Sorting = sort === "name" || sort === "size" ? sort : "new";
  const rows = sortModels(models.data?.items ?? [], by).filter((model) => !pendingRemovals.has(`model ${model.id}`));
  const add = (
    <Button renderRoot={(props) => <Link {...props} to="/new" search={{ project: pid }} />} leftSection={<IconPlus size={16} />}>
      Add model
    </Button>
  );
  return (
    <Page title="Models" actions={rows.length > 0 && add}>
      {models.isError && <Trouble error={models.error} retry={() => void models.refetch()} />}
      {models.isPending && [0, 1].map((n) => <Skeleton key={n} height={78} />)}
      {models.isSuccess && rows.length === 0 && (
        <Empty title="No model yet" actions={add}>
          Add your own file, one from the server's folders, or an example.
        </Empty>
      )}
      {rows.length > 1 && (
        <Group justify="flex-end">
          <SegmentedControl
            size="xs"
            aria-label="Sort by"
            value={by}
            onChange={(value) => void navigate({ to: ".", search: { sort: value === "new" ? undefined : value }, replace: true })}
            data={[
              { value: "new", label: "Newest" },
              { value: "name", label: "Name" },
              { value: "size", label: "Size" },
            ]}
          />
        </Group>
      )}
      <Stack gap="sm" component="ul" p={0} m={0} style={{ listStyle: "none" }}>
        {rows.map((model) => (
          <Row key={model.id} model={model} />
        ))}
      </Stack>
      {models.data?.next && <Text className="dim">The first 200 models are shown.</Text>}
    </Page>
  );
}

function Row({ model }: { model: ModelSummary }) {
  return (
    <Card component="li" padding="sm">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Stack gap={4} style={{ minWidth: 0 }}>
          <Group gap="xs">
            <Anchor component={Link} to={`/p/${model.project_id}/models/${model.id}`} fw={600} style={{ overflowWrap: "anywhere" }}>
              {model.name}
            </Anchor>
            <ModelState state={model.state} />
          </Group>
          <Group gap={8}>
            {model.format && (
              <Badge variant="default" tt="none">
                {formatName(model.format)}
              </Badge>
            )}
            {model.precision && (
              <Badge variant="default" tt="none">
                {model.precision}
              </Badge>
            )}
            <Text size="sm" className="dim">
              {bytes(model.size_bytes)}
            </Text>
            <Text size="sm" className="dim">
              {ORIGINS[model.origin]}
            </Text>
            <Ago at={model.created_at} />
          </Group>
        </Stack>
        <ModelMenu model={model} />
      </Group>
    </Card>
  );
}
