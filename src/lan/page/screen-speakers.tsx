import { useState } from 'preact/hooks';
import type { AudioMessageEntry, PlaybackEntry, SpeakerEntry } from '#lan/http/index.ts';
import { useLive, usePage, useWords } from './context.ts';
import { Badge, Card, Field, Trouble, useWork } from './parts.tsx';
import { useAsked } from './use-asked.ts';

export function SpeakersScreen() {
  const { may } = usePage();
  const { t } = useWords();
  const speakers = useAsked<{ items: SpeakerEntry[] }>('/api/v1/audio/speakers');
  const messages = useAsked<{ items: AudioMessageEntry[] }>('/api/v1/audio/messages');
  return (
    <>
      <h1>{t('nav.speakers')}</h1>
      <Trouble error={speakers.error ?? messages.error} />
      {speakers.value?.items.length === 0 && <p>{t('speakers.none')}</p>}
      {may('playMessage') && messages.value !== undefined && speakers.value !== undefined && (
        <Play messages={messages.value.items} speakers={speakers.value.items} />
      )}
      <Playing />
    </>
  );
}

function Play({ messages, speakers }: { messages: readonly AudioMessageEntry[]; speakers: readonly SpeakerEntry[] }) {
  const { api } = usePage();
  const { t, word } = useWords();
  const [message, setMessage] = useState(messages.find(({ category }) => category === 'test')?.audio_message_id ?? '');
  const [speaker, setSpeaker] = useState('');
  const [volume, setVolume] = useState(50);
  const work = useWork();
  const play = () =>
    work.run(async () => {
      const body = { audio_message_id: message, volume, ...(speaker !== '' && { target_devices: [speaker] }) };
      await api.ask('/api/v1/audio/playbacks', { method: 'POST', body });
    });
  return (
    <Card title={t('speakers.play')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          play();
        }}
      >
        <div class="field">
          <label for="message">{t('speakers.message')}</label>
          <select id="message" value={message} onChange={(event) => setMessage(event.currentTarget.value)}>
            {messages.map(({ audio_message_id: id, name, category }) => (
              <option key={id} value={id}>
                {name} ({word('category', category)})
              </option>
            ))}
          </select>
        </div>
        <div class="field">
          <label for="speaker">{t('speakers.where')}</label>
          <select id="speaker" value={speaker} onChange={(event) => setSpeaker(event.currentTarget.value)}>
            <option value="">{t('speakers.all')}</option>
            {speakers
              .filter(({ enabled }) => enabled)
              .map(({ device_id: id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
          </select>
        </div>
        <div class="field">
          <label for="volume">{t('speakers.volume', { volume })}</label>
          <input
            id="volume"
            type="range"
            min={0}
            max={100}
            step={5}
            value={volume}
            onInput={(event) => setVolume(Number(event.currentTarget.value))}
          />
        </div>
        <Trouble error={work.error} />
        <button type="submit" class="main" disabled={work.busy}>
          {t('speakers.send')}
        </button>
      </form>
    </Card>
  );
}

/** What sounds and what did lately; it is told as it happens. */
function Playing() {
  const { playbacks } = useLive();
  const { api, may } = usePage();
  const { t, word, clock } = useWords();
  const work = useWork();
  const [code, setCode] = useState('');
  const stop = (playback: string) =>
    work.run(async () => {
      const given = code;
      setCode('');
      const body = { playback, ...(given !== '' && { code: given }) };
      await api.ask('/api/v1/audio/cancel', { method: 'POST', body });
    });
  const isOn = ({ status }: PlaybackEntry) => status === 'playing' || status === 'queued';
  return (
    <Card title={t('speakers.lately')}>
      <Trouble error={work.error} />
      {playbacks.some((one) => isOn(one) && one.category === 'alarm') && may('cancelPlaybacks') && (
        <Field
          {...{ name: 'stop-code', type: 'password', label: t('speakers.stopCode'), value: code }}
          {...{ inputMode: 'numeric', autocomplete: 'off', required: false }}
          onInput={setCode}
        />
      )}
      <ul class="rows">
        {playbacks.map((playback) => (
          <li key={playback.playback_id}>
            <span>
              <time dateTime={playback.started_at}>{clock(playback.started_at)}</time> {playback.name}
            </span>
            <span>
              <Badge tone={playback.status === 'failed' ? 'bad' : 'plain'}>{word('playback', playback.status)}</Badge>{' '}
              {isOn(playback) && may('cancelPlaybacks') && (
                <button type="button" disabled={work.busy} onClick={() => stop(playback.playback_id)}>
                  {t('speakers.stop')}
                </button>
              )}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
