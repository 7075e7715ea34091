-- The reply of all decisions. A single decision, the usual case with few calls, is packed in one go.

if fits and not answers then
  return pack('<dBddd', server, fits, 0, level, since)
elseif fits then
  answer = pack('<Bddd', fits, 0, level, since)
end
return pack('<d', server) .. (answers and table.concat(answers) or '') .. (answer or '')
