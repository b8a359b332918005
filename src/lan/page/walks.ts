import type { CommandAnswer, PartitionStatus } from '#lan/http/index.ts';

/** What was seen last of a walk test; `over`: it does not run any more. */
export interface Walk {
  readonly walked: readonly string[];
  readonly missing: readonly string[];
  readonly over: boolean;
}

/** By the id of the partition. */
export type Walks = ReadonlyMap<string, Walk>;

/** With what the bridge tells of the partitions: a test ends after its time, by somebody else, or while the line is cut. Pure. */
export function walksWith(walks: Walks, partitions: readonly PartitionStatus[]): Walks {
  const next = new Map(walks);
  for (const { id, test } of partitions) {
    const old = walks.get(id);
    if (test !== undefined) next.set(id, { walked: test.walked, missing: test.missing, over: false });
    else if (old !== undefined) next.set(id, { ...old, over: true });
  }
  return next;
}

export type WalkTestResult = NonNullable<CommandAnswer['tests']>[number];

interface About {
  /** ISO 8601: when the result was known. */
  readonly at: string;
  /** Name of the site, or its id; empty where the account may not see it. */
  readonly site: string;
  readonly bridge: string;
  /** Account that has it. */
  readonly person: string;
  /** Of the partition. */
  readonly name: string;
  readonly zones: readonly { readonly number: string; readonly name: string }[];
}

/** What is kept of a walk test, to be read by somebody who does not know the numbers of the site. Pure. */
export function walkReport(result: WalkTestResult, { zones, name, site, ...about }: About) {
  const named = (numbers: readonly string[]) =>
    numbers.map((number) => ({ number, name: zones.find((zone) => zone.number === number)?.name ?? '' }));
  return {
    what: 'walk test',
    ...about,
    ...(site !== '' && { site }),
    partition: { id: result.partition, name },
    walked: named(result.walked_zones),
    missed: named(result.missed_zones),
  };
}

/** The same members as those of the answer to a test that was ended. Pure. */
export const resultOf = (partition: string, { walked, missing }: Walk): WalkTestResult => ({
  partition,
  walked: walked.length,
  walked_zones: [...walked],
  missed: missing.length,
  missed_zones: [...missing],
});
