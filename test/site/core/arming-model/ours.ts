import {
  type SyncAction,
  type SyncInput,
  type SyncState,
  type SyncTimings,
  startSync,
  syncStep,
  syncTimings,
} from '#site/core/cloud-sync/index.ts';
import type { MakePolicy, Status } from './bridge.ts';

type Bare = SyncInput extends infer I ? (I extends unknown ? Omit<I, 'at'> : never) : never;

/** The rules of `src/site/core/cloud-sync/`, with the two checks of the gate that a command of the cloud can fail. */
export const oursWith =
  (timings: SyncTimings): MakePolicy =>
  (site) => {
    const settings = { timings, external: false };
    const at = () => ({ mono: site.now(), wall: site.now(), random: site.random() });
    // It ran before, and no write of it is on its way.
    let state: SyncState = { ...startSync(at(), timings), echoes: [] };
    let seq = 1;

    function send(input: Bare): void {
      const step = syncStep(settings, state, { ...input, at: at() } as SyncInput);
      state = step.state;
      policy.wakeAt = site.now() + step.wakeInMs;
      for (const action of step.actions) act(action);
    }

    function act(action: SyncAction): void {
      if (action.kind === 'get') site.get(action.request);
      else if (action.kind === 'put') site.put(action.request, action.status);
      else if (action.kind === 'conflict') site.show(action.cloud);
      else if (action.kind === 'command') command(action);
    }

    function command({ id, verb, issuedAt, expiresAt }: Extract<SyncAction, { kind: 'command' }>): void {
      const status: Status = verb === 'arm' ? 'armed' : 'disarmed';
      const late = site.now() > expiresAt;
      if (late || issuedAt < site.keypadAt() - 2000) {
        send({ kind: 'commanded', id, outcome: late ? 'expired' : 'superseded' });
        return;
      }
      site.apply(status);
      seq += 1;
      send({ kind: 'local', status, seq, source: 'cloud' });
      send({ kind: 'commanded', id, outcome: 'done' });
    }

    const policy = {
      wakeAt: 0,
      wake: () => send({ kind: 'tick' }),
      keypad() {
        seq += 1;
        send({ kind: 'local', status: site.status(), seq, source: 'panel' });
      },
      answered(request: number, { value, writtenAt, answeredAt }: Parameters<ReturnType<MakePolicy>['answered']>[1]) {
        if (state.flight?.kind === 'put') return send({ kind: 'putAnswered', request });
        const stamps =
          writtenAt === undefined || answeredAt === undefined
            ? {}
            : { version: String(writtenAt), writtenAt, answeredAt };
        return send({ kind: 'polled', request, value, ...stamps, id: `r${request}` });
      },
      lost(request: number) {
        if (state.flight?.kind === 'put') return send({ kind: 'putFailed', request, why: 'lost' });
        return send({ kind: 'pollFailed', request, why: 'unreachable' });
      },
    };
    send({ kind: 'local', status: site.status(), seq, source: 'engine' });
    return policy;
  };

export const ours: MakePolicy = oursWith(syncTimings);
