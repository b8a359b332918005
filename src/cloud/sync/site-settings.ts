import type { Logger } from 'pino';
import type { CloudClient } from '#cloud/client/index.ts';
import { describe } from '#errors.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { type Wakeup, wakeup } from '#lib/wait.ts';
import { bridgeTrouble, type SecurityType, type TroubleKind } from '#site/model/index.ts';
import type { Memory } from '#site/store/index.ts';
import type { SyncPort } from './arming-sync.ts';
import type { Place } from './requests.ts';
import type { CloudSite, SiteStanding } from './site-standing.ts';

export interface SiteSettingsOptions {
  readonly manage: Pick<CloudClient['manage'], 'getArmingSettings'>;
  /** Reads the site, and judges whether there is one. */
  readonly standing: Pick<SiteStanding, 'isOpen' | 'read'>;
  /** The site as it was read. */
  readonly onSite?: (site: CloudSite) => void;
  readonly place: Place;
  readonly site: Pick<SyncPort, 'view' | 'tell' | 'signals'>;
  readonly memory: Memory;
  readonly log: Logger;
  /** For tests. */
  readonly random?: () => number;
  readonly everyMs?: number;
  readonly inactiveEveryMs?: number;
  readonly lostEveryMs?: number;
}

export interface SettingsShown {
  /** What the arming settings of the cloud said last; undefined: not read yet, or not understood. */
  readonly securityType?: SecurityType;
  /** `is_activated` of the site. */
  readonly active?: boolean;
  /** Why what the cloud says is not in force, or cannot be read. */
  readonly reason?: string;
}

export interface SiteSettings extends Part {
  shown(): SettingsShown;
  retryNow(): void;
}

/** How often the settings are read; they change a few times in the life of a site. */
const everyMs = 300_000;
/** While somebody has still to activate the site, and looks whether it was seen. */
const inactiveEveryMs = 60_000;
/** Whether a site that is deleted, or an access that is withdrawn, is back. */
const lostEveryMs = 900_000;
const key = 'security-type';

/**
 * Reads the arming settings and the activation of the site, after the start and now and then. A valid security type that
 * changed is asked for, and becomes effective when the core says so; anything else changes nothing and is told.
 */
export function createSiteSettings(options: SiteSettingsOptions): SiteSettings {
  const { log, memory, site, manage, standing } = options;
  const random = options.random ?? Math.random;
  const stopping = new AbortController();
  const wakeups: Wakeup = wakeup();
  let shown: SettingsShown = {};
  let failure: string | undefined;
  let loop: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await look().catch((error: unknown) => {
        if (!stopping.signal.aborted && failure === undefined)
          log.warn({ err: error }, 'the settings of the site cannot be read from the cloud; what was in force stays');
        failure = describe(error);
      });
      await wakeups.wait(pauseMs() * (0.8 + 0.4 * random()), stopping.signal);
    }
  }

  function pauseMs(): number {
    if (!standing.isOpen()) return options.lostEveryMs ?? lostEveryMs;
    return shown.active === false ? (options.inactiveEveryMs ?? inactiveEveryMs) : (options.everyMs ?? everyMs);
  }

  async function look(): Promise<void> {
    // Of a site that is lost nothing is asked but whether it is back.
    if (!standing.isOpen()) await readSite();
    const call = { params: options.place, signal: stopping.signal };
    const settings = await manage.getArmingSettings(call).catch(async (error: unknown) => {
      // Settings that cannot be had say nothing of the site.
      await readSite();
      throw error;
    });
    const given = givenIn(settings.raw) ?? settings.value.security_type;
    const reason = await obey(given);
    const value = await readSite();
    const active = value.is_activated === undefined ? undefined : value.is_activated !== 0;
    if (active !== undefined) {
      await trouble(
        'site_inactive',
        !active,
        active
          ? 'the site is active in the cloud'
          : 'the site is not activated in the cloud; it is protected on the spot as before',
      );
    }
    const securityType = typeOf(given);
    shown = {
      ...(securityType !== undefined && { securityType }),
      ...(active !== undefined && { active }),
      ...(reason !== undefined && { reason }),
    };
    failure = undefined;
  }

  async function readSite(): Promise<CloudSite> {
    const found = await standing.read(stopping.signal);
    options.onSite?.(found);
    return found;
  }

  /** Resolves with why it is not in force, if that is nothing that time will mend. */
  async function obey(given: unknown): Promise<string | undefined> {
    const said = typeOf(given);
    const text = JSON.stringify(given ?? null).slice(0, 32);
    await trouble(
      'config_unknown',
      said === undefined,
      said === undefined
        ? `the cloud names the security type ${text}, which is none of 1 to 4`
        : `the cloud names the security type ${said}`,
    );
    if (said === undefined) return 'the cloud names a security type that does not exist; the former one stays';
    const { plan, authority } = site.view();
    if (plan.securityTypeFixed === true) {
      return said === plan.securityType
        ? undefined
        : `site.security_type says ${plan.securityType}, which counts; the arming settings of the cloud say ${said}: correct them there`;
    }
    const last = await memory.get(key).catch(() => undefined);
    if (said === (authority?.asked ?? authority)?.securityType) return keep(said, last);
    // After a technician's word, only what changed since counts.
    if (authority?.by === 'cli' && last === String(said)) return undefined;
    // The service gives every new site type 4. Nobody has chosen it, and it would end the protection of this site.
    if (said === 4 && last === undefined && plan.securityType !== 4) {
      return `the cloud says 4, its value for a new site: "siteward arming source ${plan.securityType}" tells it what holds here; set site.security_type: 4 if another system decides the arming`;
    }
    if (said !== plan.securityType || authority?.asked !== undefined) {
      log.info({ security_type: said, before: plan.securityType }, 'the cloud names another security type');
      await site.tell({ kind: 'security_type', securityType: said, by: 'cloud', whileArmed: false });
    }
    return keep(said, last);
  }

  async function keep(said: SecurityType, last: string | undefined): Promise<undefined> {
    if (last !== String(said)) await memory.set(key, String(said)).catch(() => undefined);
  }

  /** What the cloud said is in force now, by whatever made it so since: then nothing is left to be said. */
  function present(): SettingsShown {
    const { reason: _, ...rest } = shown;
    return shown.securityType === site.view().plan.securityType ? rest : shown;
  }

  const told = new Map<TroubleKind, boolean>();
  async function trouble(kind: TroubleKind, active: boolean, detail: string): Promise<void> {
    if (told.get(kind) === active) return;
    told.set(kind, active);
    await site.signals([bridgeTrouble(kind, active, detail)]);
  }

  return {
    name: 'site-settings',
    async start() {
      loop = run().catch(() => undefined);
    },
    async stop() {
      stopping.abort(new Error('the reading of the settings is stopping'));
      await loop;
    },
    retryNow: () => wakeups.wake(),
    shown: () => ({ ...present(), ...(failure !== undefined && { reason: failure }) }),
    health(): Health {
      if (failure !== undefined) return { state: 'degraded', reason: failure };
      const { reason, active, securityType } = present();
      const facts = { security_type_cloud: securityType ?? null, active: active ?? null };
      if (active === false)
        return {
          state: 'degraded',
          reason: 'the site is not activated in the cloud; it is protected on the spot',
          facts,
        };
      return reason === undefined ? ok(facts) : { state: 'degraded', reason, facts };
    },
  };
}

/** The type as the cloud said it, bare or in `data`: as a number of the interface `true` would be 1. */
function givenIn(raw: unknown): unknown {
  const { security_type: bare, data } = (raw ?? {}) as { security_type?: unknown; data?: unknown };
  return bare ?? (data as { security_type?: unknown } | null | undefined)?.security_type;
}

/** A number from 1 to 4, or the same as text. */
function typeOf(given: unknown): SecurityType | undefined {
  const number = typeof given === 'string' && /^[1-4]$/.test(given) ? Number(given) : given;
  return number === 1 || number === 2 || number === 3 || number === 4 ? number : undefined;
}
