import { type Lane, lanes } from '#site/model/index.ts';
import type { BulkFile } from './bulk-file.ts';
import type { StoreLimits } from './limits.ts';
import type { FileName, StoreAnswers, StoreOp, StoreRequest } from './protocol.ts';
import type { SiteFile } from './site-file.ts';

interface Writing {
  readonly request: StoreRequest;
  value: StoreAnswers[StoreOp];
}

export const fileOf = (lane: Lane): FileName => (lane === 'activity' ? 'bulk' : 'site');

export function lanePick<T>(pick: (lane: number) => T): Readonly<Record<Lane, T>> {
  const of = (lane: Lane) => pick(lanes.indexOf(lane));
  return { alarm: of('alarm'), arming: of('arming'), trouble: of('trouble'), activity: of('activity') };
}

export function touchesSite(request: StoreRequest): boolean {
  switch (request.op) {
    case 'commit': {
      const [, , site, , arming, state] = request.commit;
      return site !== null || arming !== null || state !== null;
    }
    case 'settle':
      return request.verdicts.some(({ lane }) => fileOf(lane) === 'site');
    case 'updateMedia':
      return request.updates.some(({ lane }) => fileOf(lane) === 'site');
    case 'addGap':
      return fileOf(request.gap.lane) === 'site';
    case 'gapsReported':
      return request.gaps.some(({ lane }) => fileOf(lane) === 'site');
    default:
      return request.op === 'retryParked' || request.op === 'dropParked' || request.op === 'addAnchor';
  }
}

export function touchesBulk(request: StoreRequest): boolean {
  switch (request.op) {
    case 'commit':
      return request.commit[3] !== null;
    case 'settle':
      return request.verdicts.some(({ lane }) => fileOf(lane) === 'bulk');
    case 'updateMedia':
      return request.updates.some(({ lane }) => fileOf(lane) === 'bulk');
    case 'addGap':
      return fileOf(request.gap.lane) === 'bulk';
    case 'gapsReported':
      return request.gaps.some(({ lane }) => fileOf(lane) === 'bulk');
    case 'remember':
    case 'forget':
      return true;
    default:
      return request.op === 'retryParked' || request.op === 'dropParked';
  }
}

/** Inside one transaction of `site.db`. Of several states only the newest is written. */
export function applyToSite(file: SiteFile, works: readonly Writing[]): void {
  let newest: { order: number; state: string } | undefined;
  for (const work of works) {
    const { request } = work;
    if (request.op === 'commit') {
      const [order, , site, , arming, state] = request.commit;
      if (site !== null) file.outbox.insert(site);
      if (arming !== null) file.addArming(arming);
      if (state !== null && order >= (newest?.order ?? 0)) newest = { order, state };
    } else if (request.op === 'addAnchor') file.addAnchor(request.anchor);
    else applyOutbox(file, work);
  }
  if (newest === undefined) return;
  file.setState(newest.order, newest.state);
  if (file.meta('lost') === '1') file.setMeta('lost', '0');
}

/** Inside one transaction of `bulk.db`. */
export function applyToBulk(file: BulkFile, works: readonly Writing[], limits: StoreLimits): void {
  for (const work of works) {
    const { request } = work;
    if (request.op === 'commit') file.outbox.insert(request.commit[3] ?? []);
    else if (request.op === 'remember') file.remember(request.room, request.key, request.value, limits);
    else if (request.op === 'forget') file.forget(request.room, request.key);
    else applyOutbox(file, work);
  }
}

function applyOutbox(file: SiteFile | BulkFile, work: Writing): void {
  const { request } = work;
  const { outbox } = file;
  const isOurs = ({ lane }: { readonly lane: Lane }) => fileOf(lane) === file.name;
  /** Both files are asked about each seq, `site.db` first; the answer counts those it was found in. */
  const count = (seqs: readonly number[], change: (seq: number) => boolean) => {
    const before = file.name === 'site' ? 0 : Number(work.value ?? 0);
    work.value = before + seqs.filter(change).length;
  };
  switch (request.op) {
    case 'settle':
      for (const verdict of request.verdicts.filter(isOurs)) outbox.settle(verdict);
      return;
    case 'updateMedia':
      for (const update of request.updates.filter(isOurs)) outbox.updateMedia(update);
      return;
    case 'addGap':
      outbox.addGap({ ...request.gap, lane: lanes.indexOf(request.gap.lane) });
      return;
    case 'gapsReported':
      for (const { id } of request.gaps.filter(isOurs)) outbox.gapReported(id);
      return;
    case 'retryParked':
      count(request.seqs, (seq) => outbox.retry(seq));
      return;
    case 'dropParked':
      count(request.seqs, (seq) => outbox.dropParked(seq, request.at));
      return;
  }
}
