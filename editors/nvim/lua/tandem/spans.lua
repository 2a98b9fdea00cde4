--- The changed parts of lines, which the server counts in code points.
local M = {}

--- The bytes before a code point of a line.
---@param line string
---@param point integer
---@return integer
local function bytes_before(line, point)
  local at = 1
  for _ = 1, point do
    if at > #line then
      break
    end
    at = at + 1
    while at <= #line and line:byte(at) >= 0x80 and line:byte(at) < 0xc0 do
      at = at + 1
    end
  end
  return at - 1
end

---@alias tandem.Part {[1]: integer, [2]: integer} bytes of a line, from 0

--- Cuts a line at the ends of its changed parts.
---@param line string
---@param parts? tandem.Part[]
---@return {text: string, changed: boolean}[]
function M.pieces(line, parts)
  local out, at = {}, 0
  local function add(to, changed)
    if to > at then
      out[#out + 1] = { text = line:sub(at + 1, to), changed = changed }
      at = to
    end
  end
  for _, part in ipairs(parts or {}) do
    add(part[1], false)
    add(part[2], true)
  end
  add(#line, false)
  return out
end

--- The changed parts of the lines of a unified diff, by line from 1, the sign of the line included.
---@param unified string
---@param spans? tandem.LineSpan[]
---@return table<integer, tandem.Part[]>
function M.of_diff(unified, spans)
  local out = {} ---@type table<integer, tandem.Part[]>
  if not spans or #spans == 0 then
    return out
  end
  local lines = vim.split(unified, '\n', { plain = true })
  for _, span in ipairs(spans) do
    local line = lines[span.line + 1]
    if line then
      out[span.line + 1] = out[span.line + 1] or {}
      table.insert(out[span.line + 1], { bytes_before(line, span.start + 1), bytes_before(line, span['end'] + 1) })
    end
  end
  return out
end

--- The changed parts of one side of a hunk, by line from 1. A line that is changed as a whole has none.
---@param text string
---@param inline? tandem.InlineSpan[]
---@param op 'insert'|'delete'
---@return table<integer, tandem.Part[]>
function M.of_hunk(text, inline, op)
  local out, before = {}, 0 ---@type table<integer, tandem.Part[]>, integer
  for n, line in ipairs(inline and vim.split(text, '\n', { plain = true }) or {}) do
    local count = select(2, line:gsub('[^\128-\191]', ''))
    local shown = line:sub(-1) == '\r' and count - 1 or count
    for _, span in ipairs(inline or {}) do
      local from, to = math.max(span.start - before, 0), math.min(span['end'] - before, shown)
      if span.op == op and from < to and to - from < shown then
        out[n] = out[n] or {}
        table.insert(out[n], { bytes_before(line, from), bytes_before(line, to) })
      end
    end
    before = before + count + 1
  end
  return out
end

return M
