// Two language models that answer as a test says: `answer` plays the answers, `asked` has what they were asked.
const vscode = require('vscode');

exports.activate = (context) => {
  const api = { asked: [], answer: undefined };
  const model = (id) => ({
    id,
    name: `Test ${id}`,
    family: id,
    version: '1',
    maxInputTokens: 100_000,
    maxOutputTokens: 10_000,
    capabilities: { toolCalling: true, imageInput: true },
  });
  const provider = {
    provideLanguageModelChatInformation: () => [model('parrot'), model('crow')],
    provideLanguageModelChatResponse: async ({ id }, messages, options, progress, token) => {
      api.asked.push({ id, messages, options });
      await api.answer({ n: api.asked.length, progress, token });
    },
    provideTokenCount: async () => 1,
  };
  context.subscriptions.push(vscode.lm.registerLanguageModelChatProvider('tandem-test', provider));
  return api;
};
