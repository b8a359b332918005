import { ignored, lasting, minutes, objectClasses, pulse, shortly, state, type TopicRow } from './topic-row.ts';

const hardware = (topic: string, data: string): TopicRow => state(topic, 'hardware_fault', data, { token: ['Token'] });
const disk = (name: string): TopicRow =>
  pulse(`Device/HardwareFailure/?:${name}`, 'storage_fault', { token: ['HardDiskNo'] });

/** Topics of the standard, and what several vendors made of them. */
export const coreTopics: readonly TopicRow[] = [
  state('VideoSource/MotionAlarm', 'motion', 'State IsMotion', lasting),
  state('RuleEngine/CellMotionDetector/Motion', 'motion', 'IsMotion State Value', lasting),
  state('RuleEngine/MotionRegionDetector/Motion', 'motion', 'State IsMotion', lasting),
  // Whoever covers a camera may leave it covered: no end but the camera's own word.
  state('RuleEngine/TamperDetector/Tamper', 'tamper', 'IsTamper State'),
  state('RuleEngine/FieldDetector/ObjectsInside', 'intrusion', 'IsInside State', {
    byValue: { item: 'Rule', classes: objectClasses },
    maxOnMs: 5 * minutes,
  }),
  pulse('RuleEngine/LineDetector/Crossed', 'line'),
  ignored('RuleEngine/CountAggregation/Counter'),
  pulse('RuleEngine/LoiteringDetector/**', 'loitering'),
  pulse('RuleEngine/*/ObjectAbandoned', 'object_left'),
  pulse('RuleEngine/*/Abandoned', 'object_left'),
  pulse('RuleEngine/*/ObjectRemoved', 'object_removed'),
  pulse('RuleEngine/*/Removed', 'object_removed'),
  // Plates and faces themselves are personal data, and are dropped here.
  pulse('RuleEngine/Recognition/LicensePlate', 'vehicle'),
  pulse('RuleEngine/Recognition/Face', 'face'),
  { topic: 'RuleEngine/ObjectDetection/Object', kind: 'classes', data: ['ClassTypes'], ...lasting },
  ...['', '/*'].flatMap((service) => [
    state(`VideoSource/GlobalSceneChange${service}`, 'tamper', 'State'),
    state(`VideoSource/ImageTooDark${service}`, 'image_quality', 'State'),
    state(`VideoSource/ImageTooBright${service}`, 'image_quality', 'State'),
    state(`VideoSource/ImageTooBlurry${service}`, 'image_quality', 'State'),
    state(`VideoSource/SignalLoss${service}`, 'video_loss', 'State'),
    state(`VideoSource/ImpairedVisibility${service}`, 'image_quality', 'State'),
  ]),
  state('AudioAnalytics/Audio/DetectedSound', 'sound', 'IsSoundDetected State', shortly),
  state('Device/Trigger/DigitalInput', 'input', 'LogicalState State', { token: ['InputToken', 'Token', 'Source'] }),
  // Imou nests the topic.
  state('VideoSource/Device/Trigger/DigitalInput', 'input', 'LogicalState State', {
    token: ['InputToken', 'Token', 'Source'],
  }),
  state('Device/Trigger/Relay', 'relay', 'LogicalState State', { token: ['RelayToken', 'RelayOutputToken'] }),
  state('Device/Trigger/?:AlarmIn', 'input', 'State LogicalState', { token: ['AlarmInToken'] }),
  state('Device/HardwareFailure/StorageFailure', 'storage_fault', 'Failed disruption', { token: ['Token', 'disk_id'] }),
  hardware('Device/HardwareFailure/FanFailure', 'Failed'),
  hardware('Device/HardwareFailure/PowerSupplyFailure', 'Failed'),
  hardware('Device/HardwareFailure/PowerSupplyFailure/*', 'Failed'),
  hardware('Device/HardwareFailure/TemperatureCritical', 'Critical Failed'),
  disk('HardDiskFull'),
  disk('HardDiskError'),
  disk('HardDiskUnformat'),
  // thingino
  hardware('Device/HardwareFailure', 'State Failed'),
  pulse('Device/?:Network/?:EthernetBroken', 'network_fault'),
  pulse('Device/?:Network/?:IPAddrConflict', 'network_fault'),
  pulse('UserAlarm/?:IllegalAccess', 'access'),
  pulse('Device/SecurityPolicy/AuthFailed', 'access'),
  pulse('Device/OperationMode/ShutdownInitiated', 'system', { item: 'shutdown' }),
  pulse('Device/OperationMode/UploadInitiated', 'system', { item: 'upload' }),
  {
    topic: 'Monitoring/OperatingTime/LastReboot',
    kind: 'changed',
    detection: 'system',
    data: ['Status'],
    item: 'reboot',
  },
  ignored('Monitoring/**'),
  state('RecordingConfig/JobState', 'recording', 'State', { token: ['RecordingJobToken'] }),
  ignored('RecordingConfig/**'),
  state('RecordingHistory/Recording/State', 'recording', 'IsRecording', { token: ['RecordingToken'] }),
  ignored('RecordingHistory/**'),
  ignored('Media/**'),
  ignored('Configuration/**'),
  ignored('MediaControl/**'),
  pulse('AccessControl/**', 'access'),
  pulse('Door/**', 'access'),
  pulse('Credential/**', 'access'),
  ignored('EventBuffer/Begin'),
  // Keys and certificates of the camera; firmware spells it in two ways.
  ignored('Advancedsecurity/**'),
  ignored('Advancesecurity/**'),
];
