// Asks the server at the given address by OpenAI's client, and prints what came as JSON.
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: process.argv[2], apiKey: 'secret', maxRetries: 0 });
const messages = [{ role: 'user', content: 'Once upon a time' }];
const question = { model: 'stories', messages, temperature: 0, max_tokens: 24 };

const models = [];
for await (const m of client.models.list()) models.push(m.id);
const answer = await client.chat.completions.create(question);
let streamed = '';
let pieces = 0;
for await (const part of await client.chat.completions.create({ ...question, stream: true })) {
  streamed += part.choices[0]?.delta?.content ?? '';
  pieces++;
}
let cut = 0;
const long = await client.chat.completions.create({ ...question, max_tokens: 400, stream: true });
for await (const part of long) {
  if (part && ++cut === 3) break;
}
const completion = await client.completions.create({ model: 'stories', prompt: 'Once upon a time', temperature: 0, max_tokens: 24 });
const vectors = await client.embeddings.create({ model: 'stories', input: ['a cat', 'a dog'] });
const refused = async (change) => {
  try {
    await client.chat.completions.create({ ...question, ...change });
    return { status: 200, message: '' };
  } catch (e) {
    return { status: e.status, message: e.message };
  }
};
console.log(JSON.stringify({
  models, text: answer.choices[0].message.content, streamed, finish: answer.choices[0].finish_reason, role: answer.choices[0].message.role,
  usage: { completion_tokens: answer.usage.completion_tokens }, pieces, cut,
  vector: vectors.data.length, dimensions: vectors.data[0].embedding.length,
  wrong: await refused({ temperature: 500 }), missing: await refused({ model: 'other' }), completion: completion.choices[0].text,
}));
