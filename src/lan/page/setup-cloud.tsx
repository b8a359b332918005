import { useLive, useWords } from './context.ts';
import { hasNoCloud } from './findings.ts';
import { Badge, Card, Field } from './parts.tsx';
import { type Members, mapOf, sectionNow, textOf } from './pending.ts';
import { SecretField, SecretFile } from './setup-fields.tsx';
import type { Setup } from './use-setup.ts';

const addresses = ['base_url', 'auth_url', 'ext_base_url'] as const;

/** How the bridge finds the cloud, and proves who it is. What is secret goes in and never comes out. */
export function SetupCloud({ setup: { config, changes, put, against } }: { setup: Setup }) {
  const { t } = useWords();
  const cloud = sectionNow(config, changes, 'cloud');
  const [events, partner] = [mapOf(cloud, 'events'), mapOf(cloud, 'partner')];
  const set = (members: Members) => put({ do: 'set', section: 'cloud', members });
  /** A section within it is written whole; without members it goes. */
  const within = (name: 'events' | 'partner', old: Members, change: Members) => {
    const all = Object.entries({ ...old, ...change }).filter(([, value]) => value !== undefined && value !== '');
    set({ [name]: all.length === 0 ? null : Object.fromEntries(all) });
  };
  /** As it was before anything was typed. */
  const kept = (name: 'events' | 'partner', member: string) => mapOf(mapOf(config, 'cloud'), name)[member];
  const text = { autocomplete: 'off', required: false } as const;
  return (
    <Card title={t('setup.cloud')} aside={<CloudLink />}>
      {addresses.map((name) => (
        <Field
          key={name}
          {...text}
          {...{ name: `cloud-${name}`, label: t(`setup.cloud.${name}`), value: textOf(cloud, name) }}
          hint={t(name === 'ext_base_url' ? 'setup.cloud.extHint' : 'setup.cloud.urlHint')}
          fault={against(`cloud.${name}`)}
          onInput={(value) => set({ [name]: value === '' ? null : value })}
        />
      ))}
      <h3>{t('setup.cloud.events')}</h3>
      {(['client_id', 'key_id'] as const).map((name) => (
        <Field
          key={name}
          {...text}
          {...{ name: `events-${name}`, label: t(`setup.cloud.${name}`), value: textOf(events, name) }}
          {...(name === 'key_id' && { hint: t('setup.cloud.keyIdHint') })}
          fault={against(`cloud.events.${name}`)}
          onInput={(value) => within('events', events, { [name]: value })}
        />
      ))}
      <SecretFile
        {...{ name: 'events-private_key', label: t('setup.cloud.private_key'), hint: t('setup.cloud.keyHint') }}
        value={events.private_key}
        fault={against('cloud.events.private_key')}
        onSecret={(secret) => within('events', events, { private_key: secret ?? kept('events', 'private_key') })}
      />
      <h3>{t('setup.cloud.partner')}</h3>
      <Field
        {...text}
        {...{ name: 'partner-client_id', label: t('setup.cloud.partner_id'), value: textOf(partner, 'client_id') }}
        hint={t('setup.cloud.partnerHint')}
        fault={against('cloud.partner.client_id') ?? against('cloud.partner')}
        onInput={(value) =>
          value === ''
            ? set({ partner: null })
            : within('partner', { ...mapOf(mapOf(config, 'cloud'), 'partner'), ...partner }, { client_id: value })
        }
      />
      <SecretField
        {...{ name: 'partner-client_secret', label: t('setup.cloud.partner_secret'), value: partner.client_secret }}
        fault={against('cloud.partner.client_secret')}
        onSecret={(secret) => within('partner', partner, { client_secret: secret ?? kept('partner', 'client_secret') })}
      />
      <h3>{t('setup.cloud.other')}</h3>
      <SecretField
        {...{ name: 'cloud-api_key', label: t('setup.cloud.api_key'), value: cloud.api_key }}
        fault={against('cloud.api_key')}
        onSecret={(secret) => set({ api_key: secret ?? mapOf(config, 'cloud').api_key ?? null })}
      />
      {cloud.api_key !== undefined && (
        <button type="button" onClick={() => set({ api_key: null })}>
          {t('setup.cloud.noApiKey')}
        </button>
      )}
    </Card>
  );
}

function CloudLink() {
  const { status } = useLive();
  const { t } = useWords();
  const link = status?.links.find(({ kind }) => kind === 'cloud');
  const state = hasNoCloud(link) ? 'none' : link?.up === true ? 'up' : link?.up === false ? 'down' : 'unknown';
  return (
    <div>
      <Badge tone={state === 'up' ? 'good' : state === 'down' ? 'bad' : 'plain'}>{t(`link.${state}`)}</Badge>
      {link?.reason !== undefined && <p class="why">{link.reason}</p>}
    </div>
  );
}
