--- Text of unknown origin, safe to be put before a person.
local M = {}

--- The characters that have no shape of their own, or change what stands around them: control and format characters,
--- those for direction and of zero width among them, tags, and the separators of lines and paragraphs. It is the table of
--- the server, and a test compares the two.
M.HIDDEN = {
  { 0x0, 0x1f },
  { 0x7f, 0x9f },
  { 0xad, 0xad },
  { 0x34f, 0x34f },
  { 0x61c, 0x61c },
  { 0x115f, 0x1160 },
  { 0x17b4, 0x17b5 },
  { 0x180b, 0x180f },
  { 0x200b, 0x200f },
  { 0x2028, 0x202e },
  { 0x2060, 0x206f },
  { 0x3164, 0x3164 },
  { 0xfe00, 0xfe0f },
  { 0xfeff, 0xfeff },
  { 0xffa0, 0xffa0 },
  { 0xfff0, 0xfffb },
  { 0x13430, 0x1343f },
  { 0x1bca0, 0x1bca3 },
  { 0x1d173, 0x1d17a },
  { 0xe0000, 0xe0fff },
}

---@param code integer
---@return boolean
local function hidden(code)
  for _, range in ipairs(M.HIDDEN) do
    if code <= range[2] then
      return code >= range[1]
    end
  end
  return false
end

-- Behind a symbol this one says that it is to be an emoji, as in ⚠️.
local EMOJI = 0xfe0f

---@param code integer
---@return boolean
local function symbol(code)
  return (code >= 0x2000 and code < 0x2c00) or (code >= 0x3000 and code < 0x3400) or code >= 0x1f000 and code < 0x1fb00
end

--- Writes out every hidden character of a line as \u{…}, its number in hexadecimal, and a tab as blanks.
---@param line string
---@return string
function M.line(line)
  line = line:gsub('\t', '    ')
  if not line:find('[%z\1-\31\127-\255]') then
    return line
  end
  local out, at, before = {}, 1, 0
  while at <= #line do
    local char = line:match('^[%z\1-\127\194-\244][\128-\191]*', at) or line:sub(at, at)
    local code = vim.fn.char2nr(char:find('%z') and ' ' or char)
    code = char == '\0' and 0 or code
    local whole = vim.fn.nr2char(code)
    if char ~= '\0' and vim.startswith(char, whole) then
      char = whole -- bytes behind it belong to no character
    elseif char ~= '\0' then
      char, code = char:sub(1, 1), nil
    end
    if not code then
      out[#out + 1] = ('\\x{%x}'):format(char:byte())
    elseif hidden(code) and not (code == EMOJI and symbol(before)) then
      out[#out + 1] = ('\\u{%x}'):format(code)
    else
      out[#out + 1] = char
    end
    at, before = at + #char, code or 0
  end
  return table.concat(out)
end

--- The lines of a text, each as M.line has it.
---@param text string
---@return string[]
function M.lines(text)
  return vim.tbl_map(M.line, vim.split(text, '\n', { plain = true }))
end

return M
