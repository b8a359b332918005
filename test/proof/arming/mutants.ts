import type { Decision, Effect, Input, SiteState } from '#site/core/index.ts';
import { type Core, core } from './machine.ts';

/** Planted defects: a core that breaks one rule. */

const decides = (change: (decision: Decision, input: Input, before: SiteState) => Decision): Core => ({
  ...core,
  decide: (plan, state, input) => change(core.decide(plan, state, input), input, state),
});
const hears = (change: (input: Input, state: SiteState) => Input): Core => ({
  ...core,
  decide: (plan, state, input) => core.decide(plan, state, change(input, state)),
});
const believes = (change: (state: SiteState, input: Input) => SiteState): Core => ({
  ...core,
  decide: (plan, state, input) => core.decide(plan, change(state, input), input),
});
const without = (kind: Effect['kind']) => (effect: Effect) => effect.kind !== kind;

/** Every partition of a state with other words. */
const rewrite = (state: SiteState, more: Partial<SiteState['partitions'][string]>): SiteState => ({
  ...state,
  partitions: Object.fromEntries(Object.entries(state.partitions).map(([id, one]) => [id, { ...one, ...more }])),
});

export const forgetsAnswers = believes((state) => ({ ...state, commands: [] }));
export const takesRetainedForLive = hears((input) =>
  input.kind === 'signal' && 'replay' in input.signal
    ? { ...input, signal: { ...input.signal, replay: false } }
    : input,
);
export const ignoresAge = hears((input) =>
  input.kind === 'command' ? { ...input, command: { ...input.command, issuedAt: input.at.wall } } : input,
);
export const followsOlderCommands = believes((state, input) =>
  input.kind === 'command'
    ? {
        ...state,
        periods: Object.fromEntries(
          Object.entries(state.periods).map(([id, { local: _local, localAt: _localAt, ...period }]) => [id, period]),
        ),
      }
    : state,
);
export const skipsTheAudit = decides((decision) => ({
  ...decision,
  effects: decision.effects.filter((effect) => effect.kind !== 'audit' || effect.entry.kind !== 'transition'),
}));
export const doublesEvents = decides((decision) => ({
  ...decision,
  effects: decision.effects.flatMap((effect): Effect[] => (effect.kind === 'event' ? [effect, effect] : [effect])),
}));
export const countsInMemoryOnly: Core = { ...core, stored: (state) => core.stored(rewrite(state, { seq: 0 })) };
export const startsDisarmed: Core = {
  ...core,
  adoptPlan: (plan, state, at) => core.adoptPlan(plan, rewrite(state, { state: 'disarmed', mode: null }), at),
};
export const takesALostStoreForANewOne: Core = {
  ...core,
  initialState: (plan, at) => core.initialState(plan, at, { storeLost: false }),
};
export const trustsAnyCode = hears((input) =>
  input.kind === 'command' && input.command.code === 'bad'
    ? { ...input, command: { ...input.command, code: 'ok' } }
    : input,
);
export const wantsNoCode = hears((input) =>
  input.kind === 'command' && input.command.code === 'none'
    ? { ...input, command: { ...input.command, code: 'ok' } }
    : input,
);
export const forgetsDelays: Core = {
  ...core,
  stored(state) {
    const stored = core.stored(state);
    return stored === undefined ? undefined : { ...stored, timers: {} };
  },
};
/** The state before the last transition is what the next life finds. */
export const answersBeforeTheCommit: Core = {
  ...core,
  stored: (state) => core.stored(rewrite(state, { state: 'arming' })),
};
export const believesItsWishes = decides((decision, input) =>
  input.kind === 'command' && decision.effects.some(({ kind }) => kind === 'panel')
    ? { ...decision, state: rewrite(decision.state, { state: 'armed_away', mode: 'away' }) }
    : decision,
);
export const answersNobody = decides((decision) => ({
  ...decision,
  effects: decision.effects.filter(without('reply')),
}));
export const touchesWhatItRefuses = decides((decision) =>
  decision.effects.some((effect) => effect.kind === 'reply' && effect.result.outcome === 'refused')
    ? { ...decision, state: { ...decision.state, timers: {} } }
    : decision,
);
/** Delays by the clock on the wall. */
export const countsByTheWall: Core = hears((input) => ({ ...input, at: { ...input.at, mono: input.at.wall } }));
export const forgetsToWind = decides((decision) => ({
  ...decision,
  effects: decision.effects.filter(without('timer.set')),
}));
export const showsDuress = decides((decision, input) =>
  input.kind === 'command' && input.command.code === 'duress'
    ? { ...decision, rules: [...decision.rules, 'duress'] }
    : decision,
);
export const slowsDownPeople = decides((decision, input, before) => {
  const recent = Object.values(before.commands).filter(({ at }) => input.at.wall - at < 60_000).length;
  if (input.kind !== 'command' || recent < 5) return decision;
  const { command, at } = input;
  const result = { commandId: command.id, outcome: 'refused', at: at.wall, final: true } as const;
  return { state: before, effects: [{ kind: 'reply', result, client: command.client }], rules: ['C8'] };
});
export const losesAMember: Core = decides((decision) => ({
  ...decision,
  state: { ...decision.state, unknownMember: 1 } as SiteState,
}));
