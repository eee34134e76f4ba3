import { Button, Group, SimpleGrid, Skeleton, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconPlus, IconSearch } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useDeferredValue, useRef } from "react";

import { projectsQuery } from "@/api/queries";
import { FirstRun } from "@/features/home/FirstRun";
import { MachineLine } from "@/features/home/MachineLine";
import { ProjectCard } from "@/features/home/ProjectCard";
import { Empty } from "@/ui/Empty";
import { Page } from "@/ui/Page";
import { usePageKeys } from "@/ui/pageKeys";
import { Trouble } from "@/ui/Trouble";

const AT_ONCE = 6; // fill a window; the others follow after the first paint

export function HomePage() {
  const { text } = useSearch({ from: "/" });
  const navigate = useNavigate();
  const projects = useInfiniteQuery(projectsQuery(text ? { text } : {}));
  const search = useDebouncedCallback((typed: string) => void navigate({ to: "/", search: typed.trim() ? { text: typed.trim() } : {}, replace: true }), 250);
  const filter = useRef<HTMLInputElement>(null);
  usePageKeys(
    useCallback((key) => {
      if (key === "/") filter.current?.focus();
      return key === "/";
    }, []),
  );
  const rows = projects.data?.pages.flatMap((page) => page.items) ?? [];
  const visible = rows.slice(0, Math.max(AT_ONCE, useDeferredValue(rows.length, 0)));
  const isFirst = projects.isSuccess && rows.length === 0 && !text;
  if (isFirst)
    return (
      <Page title="Measure, compare and understand your models">
        <FirstRun />
        <MachineLine />
      </Page>
    );
  return (
    <Page
      title="Projects"
      actions={
        <Button component={Link} to="/new" leftSection={<IconPlus size={16} />}>
          New project
        </Button>
      }
    >
      <TextInput
        leftSection={<IconSearch size={16} aria-hidden />}
        placeholder="Find a project"
        aria-label="Find a project"
        defaultValue={text ?? ""}
        onChange={(event) => search(event.currentTarget.value)}
        maw={360}
        ref={filter}
      />
      {projects.isError && <Trouble error={projects.error} retry={() => void projects.refetch()} />}
      {projects.isSuccess && rows.length === 0 && (
        <Empty
          title="No project name contains that"
          actions={
            <Button variant="default" component={Link} to="/">
              Show all projects
            </Button>
          }
        >
          No match for “{text}”.
        </Empty>
      )}
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }}>
        {projects.isPending && [0, 1, 2].map((n) => <Skeleton key={n} height={170} />)}
        {visible.map((project) => (
          <ProjectCard key={project.id} project={project} />
        ))}
      </SimpleGrid>
      {projects.hasNextPage && (
        <Group justify="center">
          <Button variant="default" loading={projects.isFetchingNextPage} onClick={() => void projects.fetchNextPage()}>
            Show more
          </Button>
        </Group>
      )}
      <MachineLine />
    </Page>
  );
}
