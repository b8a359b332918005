import { useState } from 'preact/hooks';
import type { DeviceEntry } from '#lan/http/index.ts';
import { useLive, usePage, useWords } from './context.ts';
import { DeviceLog } from './device-log.tsx';
import { Picture } from './live-picture.tsx';
import { Badge, Card, Trouble, useWork } from './parts.tsx';
import { givesPicture } from './picture-times.ts';
import { useAsked } from './use-asked.ts';

/** Every device: whether it answers, what it said last, and a test of it here and now. */
export function DevicesScreen() {
  const { t } = useWords();
  const { value, busy, error, again } = useAsked<{ items: DeviceEntry[] }>('/api/v1/devices');
  return (
    <>
      <h1>{t('nav.devices')}</h1>
      <button type="button" disabled={busy} onClick={again}>
        {t('refresh')}
      </button>
      <Trouble error={error} />
      {value?.items.length === 0 && <p>{t('devices.none')}</p>}
      {value?.items.map((device) => (
        <Device key={`${device.kind} ${device.id}`} device={device} />
      ))}
    </>
  );
}

function Device({ device }: { device: DeviceEntry }) {
  const { may } = usePage();
  const { t, word, time } = useWords();
  const { kind, id, name, up, reason, last_event: lastEvent, tests } = device;
  return (
    <Card
      title={`${word('kind', kind)} ${name}`}
      aside={
        <Badge tone={up === true ? 'good' : up === false ? 'bad' : 'plain'}>
          {t(up === true ? 'devices.up' : up === false ? 'devices.down' : 'unknown')}
        </Badge>
      }
    >
      {reason !== undefined && <p class="why">{reason}</p>}
      {up === false && <p class="remedy">{word('deviceRemedy', kind)}</p>}
      {lastEvent !== undefined && <p>{t('devices.last', { time: time(lastEvent) })}</p>}
      {tests.includes('picture') && may('cameraSnapshot') && <Pictures device={device} />}
      {tests.includes('tone') && may('playMessage') && <Tone id={id} />}
      {tests.includes('walk') && (
        <p class="hint">{may('giveTestCommand') ? <a href="#/walk">{t('devices.walk')}</a> : t('devices.walk')}</p>
      )}
      {kind === 'panel' && !tests.includes('walk') && <p class="hint">{t('devices.noWalk')}</p>}
      {may('getLog') && <DeviceLog id={id} name={name} />}
    </Card>
  );
}

/** What the setting of the camera refuses is not offered (safety 11). */
function Pictures({ device }: { device: DeviceEntry }) {
  const { t } = useWords();
  const { partitions } = useLive();
  const isOff = !givesPicture(device, partitions);
  return (
    <>
      <Picture id={device.id} name={device.name} isOff={isOff} />
      {isOff && <p class="hint">{t(device.pictures === 'armed' ? 'devices.onlyArmed' : 'devices.onlyAlarm')}</p>}
    </>
  );
}

function Tone({ id }: { id: string }) {
  const { api } = usePage();
  const { t } = useWords();
  const [said, setSaid] = useState<string | undefined>(undefined);
  const work = useWork();
  const play = () =>
    work.run(async () => {
      const body = { audio_message_id: 'test.tone1k', target_devices: [id] };
      const { status } = await api.ask<{ status: string }>('/api/v1/audio/playbacks', { method: 'POST', body });
      setSaid(status);
    });
  return (
    <>
      <button type="button" disabled={work.busy} onClick={play}>
        {t('devices.tone')}
      </button>
      <p role="status">{said !== undefined && t('devices.toneSaid')}</p>
      <Trouble error={work.error} />
    </>
  );
}
