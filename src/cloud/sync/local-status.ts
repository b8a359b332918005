import { type SiteStatus, siteStatus } from '#site/core/index.ts';
import type { ArmingSource, PartitionState, SiteView } from '#site/model/index.ts';

export interface LocalChange {
  readonly status: SiteStatus;
  readonly source: ArmingSource;
}

/** Who counts when several partitions changed at once: whoever stands nearest to them. */
const nearest: readonly ArmingSource[] = ['panel', 'lan', 'cli', 'schedule', 'cloud', 'engine'];

/** Finds the changes of the arming in the pictures of the site; the first picture is one. */
export function localChanges(): { next(view: SiteView): LocalChange | undefined } {
  let before: ReadonlyMap<string, string> | undefined;
  let status: SiteStatus | undefined;
  return {
    next({ partitions }) {
      const now = new Map(partitions.map((partition) => [partition.id, keyOf(partition)]));
      const told = siteStatus(partitions);
      const changed = partitions.filter(({ id }) => before?.get(id) !== now.get(id));
      const isSame = before !== undefined && changed.length === 0 && told === status;
      const isFirst = before === undefined;
      before = now;
      status = told;
      if (isSame) return undefined;
      const sources = new Set(changed.map(({ source }) => source));
      const source = isFirst ? undefined : nearest.find((one) => sources.has(one));
      return { status: told, source: source ?? 'engine' };
    },
  };
}

const keyOf = ({ seq, owner }: PartitionState): string => `${seq} ${owner ?? ''}`;
