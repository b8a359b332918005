import type { OnLink } from '#cloud/delivery/index.ts';
import { bridgeItself, type Signal } from '#site/model/index.ts';

/** Says at the site that events are held back, and when they leave again. */
export interface CloudTrouble {
  readonly onLink: OnLink;
  /** No trouble is begun any more. */
  stop(): void;
}

type Kind = NonNullable<Parameters<OnLink>[2]>;

const minute = 60_000;
/** How long each kind of hold must last: what only a person can end is told at once, a line may be back in a moment. */
const toleratedMs: Readonly<Record<Kind, number>> = {
  unauthorized: 0,
  forbidden: 0,
  intercepted: 2 * minute,
  clock: 3 * minute,
  unreachable: 3 * minute,
  busy: 3 * minute,
};

/**
 * One trouble `comm_fail` of the bridge while the cloud takes no events, whatever the reason becomes meanwhile; its end
 * is told at each opening of the line, so that one from before a restart ends too. The core makes the pair of it.
 */
export function createCloudTrouble(options: {
  readonly emit: (signals: readonly Signal[]) => Promise<void>;
  readonly now: () => number;
}): CloudTrouble {
  const { emit, now } = options;
  let sinceMono: number | undefined;
  let timer: NodeJS.Timeout | undefined;

  const tell = (active: boolean, detail: string) =>
    void emit([{ kind: 'trouble', source: bridgeItself, trouble: 'comm_fail', active, detail, replay: false }])
      // Only a controller that is ending refuses.
      .catch(() => {});

  return {
    onLink(up, reason, kind = 'unreachable') {
      clearTimeout(timer);
      if (up) {
        sinceMono = undefined;
        tell(false, reason);
        return;
      }
      sinceMono ??= now();
      const leftMs = toleratedMs[kind] - (now() - sinceMono);
      if (leftMs <= 0) tell(true, reason);
      else timer = setTimeout(() => tell(true, reason), leftMs);
    },
    stop: () => clearTimeout(timer),
  };
}
