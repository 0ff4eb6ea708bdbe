# Records what Jinja makes of templates: python3 record.py > cases.json, with jinja2 3.1 from PyPI. The environment is as the libraries of
# models have it: immutable, with trimmed blocks, loop controls, tojson without escapes, raise_exception and strftime_now.
import datetime, json, sys
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2024, 7, 26, 15, 4, 5)


def refuse(message):
    raise ValueError(message)


env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
env.filters["tojson"] = lambda x, ensure_ascii=False, indent=None, separators=None, sort_keys=False: json.dumps(
    x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
env.globals["raise_exception"] = refuse
env.globals["strftime_now"] = lambda f: NOW.strftime(f)

user = {"role": "user", "content": "  Hello, “world”\n"}
system = {"role": "system", "content": "Be brief."}
answer = {"role": "assistant", "content": "<think>so\nso</think>\n\nHi!"}
call = {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": {"name": "weather", "arguments": {"city": "Köln", "days": 2, "rate": 0.5}}}]}
result = {"role": "tool", "name": "weather", "content": "{\"rain\": true}"}
parts = {"role": "user", "content": [{"type": "text", "text": "What is "}, {"type": "image"}, {"type": "text", "text": "this?"}]}
tool = {"type": "function", "function": {"name": "weather", "description": "The weather\nof a \"city\"", "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}}, "required": ["city"]}}}
conversations = [[user], [system, user], [user, answer, user], [system, user, answer, user], [user, call, result], [system, user, call, result, result, answer], [user, user], [parts], [system], []]

families = {
    "chatml": """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou help.<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + (message['content'] or '') + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "turns": """{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles take turns: user, assistant, user') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant') }}{% endif %}{% endfor %}""",
    "headers": """{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{#- the system's words come first #}
{%- if messages and messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- bos_token }}
{{- "<|head|>system<|end|>\\n\\nToday: " + date_string + "\\n\\n" }}
{%- if tools is not none %}
    {{- "Functions:\\n\\n" }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|head|>' + message['role'] + '<|end|>\\n\\n'+ message['content'] | trim + '<|eot|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("One call at once") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '<|head|>assistant<|end|>\\n\\n{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|head|>ipython<|end|>\\n\\n" }}
        {%- if message.content is mapping or (message.content is iterable and message.content is not string) %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|head|>assistant<|end|>\\n\\n' }}
{%- endif %}
""",
    "thinking": """{%- if tools %}
    {{- '<s>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
    {{- "# Tools\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools></s>\\n" }}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}{%- set content = message.content %}{%- else %}{%- set content = '' %}{%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<s>' + message.role + '\\n' + content + '</s>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or (not loop.last and reasoning_content)) %}
            {{- '<s>assistant\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<s>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}{{- '\\n' }}{%- endif %}
                {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
                {{- '<tool_call>\\n{"name": "' }}{{- tool_call.name }}{{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}{{- tool_call.arguments }}{%- else %}{{- tool_call.arguments | tojson }}{%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '</s>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<s>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' }}{{- content }}{{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '</s>\\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<s>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}""",
    "macros": """{% macro render(content, last=false) -%}
  {%- if content is string -%}{{ content | trim }}
  {%- elif content is iterable -%}
    {%- for item in content -%}
      {%- if item['type'] == 'image' -%}{{ '<image>' }}{%- elif item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}
    {%- endfor -%}
  {%- endif -%}
  {{- '!' if last -}}
{%- endmacro %}
{{ bos_token }}
{%- if messages and messages[0]['role'] == 'system' -%}
  {%- set first_user_prefix = messages[0]['content'] + '\\n\\n' -%}
  {%- set loop_messages = messages[1:] -%}
{%- else -%}
  {%- set first_user_prefix = "" -%}
  {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}
    {{ '<turn>' + role + '\\n' + (first_user_prefix if loop.first else "") }}{{ render(message['content'], last=loop.last) }}{{ '<end>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{'<turn>model\\n'}}{%- endif -%}
""",
    "plain blocks": """
{% for message in messages %}
  {% if message.role == 'system' %}
    {% continue %}
  {% endif %}
  {% if loop.index > 3 %}{% break %}{% endif %}
{{ message.role|upper }}: {{ message.content }}
  {# a remark #}
  {%+ if loop.last %}end{% endif +%}

{% else %}
nothing
{% endfor %}
""",
}

snippets = r"""
{{ 1 + 2 * 3 ** 2 - 7 // 2 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7.5 % 2 }} {{ 2 ** -1 }} {{ -2 ** 2 }} {{ 1e20 }} {{ 0.1 + 0.2 }} {{ 1e-5 }} {{ 100000.0 }} {{ 1_000 }}
{{ 'a' ~ 1 ~ none ~ true ~ 1.5 ~ [1, 'x', none] ~ {'k': "it's"} ~ (1,) ~ () ~ (1, 'b') }}
{{ 'abc'[1] }}{{ 'abc'[-1] }}{{ 'äöü'[1:] }}{{ 'abcdef'[::2] }}{{ 'abcdef'[::-1] }}{{ 'abcdef'[4:1:-1] }}{{ 'abc'[5:] }}{{ [1,2,3][:-1] }}{{ (1,2,3)[1:] }}
{{ 'a' in 'cat' }} {{ 'x' not in ['a'] }} {{ 'k' in {'k': 1} }} {{ 1 == 1.0 }} {{ 1 == true }} {{ 'a' < 'b' }} {{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ none == none }} {{ [1] == [1.0] }} {{ (1,) == [1] }}
{{ not true or true and false }} {{ none or 'x' }} {{ '' and 'x' }}| {{ 'a' if false else 'b' }} {{ 'a' if false }}| {{ ('a' if true else 'b') + 'c' }}
{{ missing }}|{{ missing is defined }}|{{ missing|default('d') }}|{{ ''|default('d', true) }}|{{ none|default('d') }}|{{ missing|length }}|{{ missing == other }}
{{ {'a': {'b': [1, 2]}}.a.b[1] }} {{ {'a': 1}.b is undefined }} {{ {'a': 1}.get('b', 2) }} {{ {'a': 1}.get('b') }} {{ {'items': 3}['items'] }}
{{ ' x '|trim }}{{ 'xax'.strip('x') }}{{ ' a b '.split() }}{{ 'a,b,c'.split(',', 1) }}{{ ' a  b c '.split(none, 1) }}{{ 'ab'.replace('a', 'bb') }}{{ 'aaa'|replace('a', 'b', 2) }}
{{ 'hello wORLD'|title }} {{ 'hello'|capitalize }} {{ "they're bill's"|title }} {{ 'ABC'|lower }} {{ 'abc'.upper() }} {{ 'x'.startswith('x') }} {{ 'ab'.endswith(('c', 'b')) }}
{{ [3, 1, 2]|sort }} {{ ['b', 'A', 'c']|sort }} {{ ['b', 'A', 'c']|sort(reverse=true) }} {{ [1, 1, 2]|unique|list }} {{ [1, 2]|sum }} {{ [1, 5, 2]|max }} {{ ['b', 'A']|min }}
{{ [1, 2, 3]|join(', ') }} {{ [{'n': 'a'}, {'n': 'b'}]|map(attribute='n')|join('-') }} {{ ['a', 'b']|map('upper')|list }} {{ ', '.join(['x', 'y']) }} {{ [{'n': 1}]|join(attribute='n') }}
{{ [1, 2, 3, 4]|select('odd')|list }} {{ [1, 2, 3]|reject('equalto', 2)|list }} {{ [{'r': 'u', 'n': 1}, {'r': 's', 'n': 2}]|selectattr('r', 'equalto', 's')|map(attribute='n')|list }} {{ [{'r': 1}, {}]|selectattr('r', 'defined')|list }} {{ [{'r': 1}, {'r': 0}]|rejectattr('r')|list }} {{ [0, 1, '']|select|list }}
{{ {'b': 1, 'a': [true, none, 'ü"\n\u0001']}|tojson }} {{ {'b': 1, 'a': [1, {}], 'c': []}|tojson(indent=2) }} {{ 1.0|tojson }} {{ 'x</y>'|tojson }} {{ [1,2]|tojson(separators=(',', ':')) }}
{{ {'b': 1, 'a': 2}|dictsort }} {{ {'b': 1, 'a': 2}|items|list }} {{ {'b': 1}|list }} {{ {'b': 1, 'a': 2}.keys()|list }} {{ {'b': 1}.values()|list }}{% for k, v in {'x': 1, 'y': 2}.items() %}{{ k }}{{ v }}{% endfor %}
{{ '12'|int + 1 }} {{ 'x'|int }} {{ 'x'|int(7) }} {{ '1.5'|float }} {{ 3.9|int }} {{ -3|abs }} {{ true|int }} {{ 5|string + '!' }} {{ '3.7'|int }}
{% set ns = namespace(x=1, y='a') %}{% for i in range(3) %}{% set ns.x = ns.x + i %}{% set y = i %}{% endfor %}{{ ns.x }}{{ ns.y }}{{ y }}
{% for i in [1, 2, 3] if i != 2 %}{{ loop.index }}/{{ loop.length }}:{{ i }}{{ loop.last }}{{ loop.revindex }} {% endfor %}{% for x in [] %}a{% else %}none{% endfor %}
{% for a in 'xy' %}{% for b in [1, 2] %}{{ a }}{{ b }}{{ loop.first }}{% endfor %}{{ loop.previtem is defined }}{{ loop.nextitem }}{% endfor %}
{% for (a, b) in [(1, 2), [3, 4]] %}{{ a + b }} {% endfor %}{% set a, b = 1, 2 %}{{ b }}{{ range(5, 0, -2)|list }}{{ range(2)|list }}
{% set x %}a {{ 1 + 1 }} b{% endset %}[{{ x }}]{% if x is string and x is not none %}yes{% elif true %}no{% else %}never{% endif %}
{% macro f(a, b='d') %}<{{ a }},{{ b }}>{% endmacro %}{{ f(1) }}{{ f(1, 2) }}{{ f(b=3, a=4) }}{{ f() }}
{% raw %}{{ not read }}{% endraw %} {{ "quotes: \" ' \\ \t|\x41\u00e9" }} {{ 'two ' 'parts' }}
{{ 5 is odd }} {{ 4 is even }} {{ 6 is divisibleby 3 }} {{ 1 is in [1] }} {{ 'a' is in 'abc' }} {{ {} is mapping }} {{ 'x' is iterable }} {{ [] is sequence }} {{ 1 is number }} {{ true is boolean }} {{ 1.5 is float }} {{ 1 is integer }} {{ true is true }} {{ 1 is true }} {{ 'a' is eq 'a' }} {{ 'abc' is lower }} {{ 2 is gt 1 }}
{{ 'a\nb\n\nc'|indent(2) }}|{{ 'a\nb'|indent(first=true) }}|{{ 'a\n\nb'|indent(1, blank=true) }}
{{ [1, 2]|first }}{{ [1, 2]|last }}{{ []|first }}{{ 'abc'|reverse }}{{ [1, 2]|reverse|list }}{{ 'abc'|list }}{{ 'abc'|length }}{{ 'äb'|count }}
{{ strftime_now('%d %B %Y, %H:%M:%S %j %a %p %I') }} {{ [1, 2] + [3] }} {{ 'ab' * 3 }} {{ (1, 2) + (3,) }}
{{ 'a-b_c'.split('-')[1].split('_')|last }} {{ 'aXbX'.removesuffix('X').removeprefix('a') }} {{ 'banana'.count('an') }} {{ 'banana'.find('n') }} {{ 'a\nb\r\nc'.splitlines() }}
{%- if true -%}  x  {%- endif -%}  y
  {% if true %}  
 z {%- if true %} w{% endif %}

  {{ 'line' }}{% endif %}
  end
{{ none.x is defined }} {{ {}.x is defined }} {{ none is none }} {{ -1|string }} {{ (-1)|abs }} {{ 1 if missing else 2 }} {{ [missing]|length }} {{ missing in [1] }}
{{ raise_exception('no: ' ~ 1) }}
{{ missing.x }}
{{ 1 + 'a' }}
{{ 1 < 'a' }}
{{ [1].append(2) }}
{{ none|length }}
{% for x in none %}{% endfor %}
{{ 1 // 0 }}
{{ missing() }}
{{ missing + 'a' }}
{% set x.y = 1 %}
{{ f(1) }}
{% if %}a{% endif %}
{% for %}{% endfor %}
{{ 1 + }}
{{ 'a }}
{% endif %}
{% if true %}
{{ a b }}
{{ x | nosuchfilter }}
{{ x is nosuchtest }}
{% nosuchtag %}
{% include 'file' %}
{{ 1 }
{# no end
{{ {1 2} }}
{{ [1, 2 }}
{{ ''.__class__.__mro__ }}|{{ messages.__class__ }}
{{ 1 in 5 }}
{% break %}
""".strip("\n")

lines = snippets.split("\n")
texts, i = [], 0
while i < len(lines):
    n = 6 if lines[i].startswith("{%- if true -%}  x") else 1
    texts.append("\n".join(lines[i:i + n]))
    i += n


def record(template, variables, **case):
    try:
        case["text"] = env.from_string(template).render(**variables)
    except Exception as e:
        case["error"] = type(e).__name__ + ": " + str(e)
    return case


cases = []
for name, source in families.items():
    for i, c in enumerate(conversations):
        for more in [{}, {"tools": [tool], "add_generation_prompt": False}, {"enable_thinking": False}]:
            v = {"messages": c, "add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>", "tools": None}
            v.update(more)
            cases.append(record(source, v, family=name, conversation=i, more=more))
for t in texts:
    cases.append(record(t, {"messages": [user]}, source=t, conversation=0, more={}))
json.dump({"families": families, "conversations": conversations, "cases": cases}, sys.stdout, ensure_ascii=False, indent=0)
