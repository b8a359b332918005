import { useState } from 'preact/hooks';
import type { CameraEntry } from '#lan/http/index.ts';
import { type Place, placeMembers, placeOf, takenIds, takenZones } from './camera-entry.ts';
import { PlaceFields } from './camera-fields.tsx';
import { CameraSearch } from './camera-search.tsx';
import { usePage, useWords } from './context.ts';
import { Badge, Card, Field, Trouble } from './parts.tsx';
import { type EntryNow, entriesNow, listOf, type Members, textOf } from './pending.ts';
import { SecretField, TypedConfirmation } from './setup-fields.tsx';
import { useAsked } from './use-asked.ts';
import type { Setup } from './use-setup.ts';

type Kind = 'cameras' | 'nvrs';

/** The cameras and recorders of the configuration, and the ways to more of them. */
export function SetupCameras({ setup }: { setup: Setup }) {
  const { may } = usePage();
  const { t } = useWords();
  const known = useAsked<{ items: CameraEntry[] }>('/api/v1/cameras');
  const { config, changes } = setup;
  const entries = (['cameras', 'nvrs'] as const).flatMap((section) =>
    entriesNow(config, changes, section).map((now) => ({ section, now })),
  );
  return (
    <>
      <h2>{t('setup.cameras')}</h2>
      <button type="button" disabled={known.busy} onClick={known.again}>
        {t('refresh')}
      </button>
      <Trouble error={known.error} />
      {entries.length === 0 && <p>{t('setup.cameras.none')}</p>}
      {entries.map(({ section, now }) => (
        <Configured
          key={now.id}
          {...{ setup, section, now }}
          shown={known.value?.items.find(({ id }) => id === now.id)}
        />
      ))}
      {may('discoverCameras') && (
        <CameraSearch {...{ setup, ids: takenIds(config, changes), zones: takenZones(config, changes) }} />
      )}
    </>
  );
}

function Configured(props: { setup: Setup; section: Kind; now: EntryNow; shown: CameraEntry | undefined }) {
  const { t, word } = useWords();
  const [typed, setTyped] = useState('');
  const { setup, section, now, shown } = props;
  const { id, entry, state } = now;
  const { reachable: up, reason } = shown ?? { reachable: null };
  const kind = word('kind', section === 'nvrs' ? 'nvr' : 'camera');
  return (
    <Card
      title={`${kind} ${textOf(entry, 'name') || id}`}
      aside={
        <Badge tone={up === true ? 'good' : up === false ? 'bad' : 'plain'}>
          {t(up === true ? 'devices.up' : up === false ? 'devices.down' : 'unknown')}
        </Badge>
      }
    >
      <p>
        {id}, {textOf(entry, 'url')}
      </p>
      {reason !== undefined && <p class="why">{reason}</p>}
      {state !== 'same' && <Badge tone="note">{t(state === 'removed' ? 'setup.willGo' : 'setup.willChange')}</Badge>}
      {state !== 'removed' && (
        <>
          <details>
            <summary>{t('setup.change')}</summary>
            <MembersForm setup={setup} section={section} id={id} entry={entry} />
          </details>
          <details>
            <summary>{t('setup.remove')}</summary>
            <p>{t('setup.removeAbout')}</p>
            <TypedConfirmation
              {...{ name: `remove-${id}`, label: t('setup.typeId', { id }), wanted: id, typed, busy: false }}
              action={t('setup.remove')}
              onTyped={setTyped}
              onAction={() => {
                setTyped('');
                setup.put({ do: 'remove', section, id });
              }}
            />
          </details>
        </>
      )}
    </Card>
  );
}

/** What may be changed of one of them; each letter counts as typed. */
function MembersForm({ setup, section, id, entry }: { setup: Setup; section: Kind; id: string; entry: Members }) {
  const { t } = useWords();
  const { config, changes, put, against } = setup;
  const set = (members: Members) => put({ do: 'change', section, id, members });
  const place = placeOf(entry);
  const old = listOf(config, section).find((one) => one.id === id);
  const at = (member: string) => against(`${section}[${id}].${member}`);
  const channels = listOf(entry, 'channels');
  return (
    <>
      {section === 'cameras' ? (
        <PlaceFields
          {...{ prefix: `camera-${id}`, place, against: at }}
          taken={takenZones(config, changes, id)}
          onPlace={(next) => set(placeMembers(next))}
        />
      ) : (
        <Field
          {...{ name: `camera-${id}-name`, label: t('setup.camera.name'), value: place.name, required: false }}
          onInput={(name) => set({ name: name === '' ? null : name })}
        />
      )}
      <Field
        {...{ name: `camera-${id}-user`, label: t('setup.camera.username'), value: textOf(entry, 'username') }}
        {...{ autocomplete: 'off', required: false }}
        fault={at('username')}
        onInput={(username) => set({ username: username === '' ? null : username })}
      />
      <SecretField
        {...{ name: `camera-${id}-password`, label: t('setup.camera.password'), value: entry.password }}
        hint={t('setup.camera.passwordHint')}
        fault={at('password')}
        onSecret={(secret) => set({ password: secret ?? old?.password ?? null })}
      />
      {channels.map((channel, index) => (
        <fieldset key={textOf(channel, 'id')}>
          <legend>{t('setup.channel', { id: textOf(channel, 'id') })}</legend>
          <PlaceFields
            {...{ prefix: `camera-${textOf(channel, 'id')}`, place: placeOf(channel) }}
            taken={takenZones(config, changes, textOf(channel, 'id'))}
            against={(member) => at(`channels[${textOf(channel, 'id')}].${member}`)}
            onPlace={(next) => set({ channels: withPlace(channels, index, next) })}
          />
        </fieldset>
      ))}
    </>
  );
}

/** The list is written whole, so what is taken away is left out of it. */
const withPlace = (channels: readonly Members[], index: number, place: Place): readonly Members[] =>
  channels.map((channel, at) =>
    at !== index
      ? channel
      : Object.fromEntries(
          Object.entries({ ...channel, ...placeMembers(place) }).filter(([, value]) => value !== null),
        ),
  );
