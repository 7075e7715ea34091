-- What came of all decisions; of one that is alone in one go, which most are where calls are few.

if fits and not answers then
  return pack('<dBddd', server, fits, 0, level, since)
elseif fits then
  answer = pack('<Bddd', fits, 0, level, since)
end
return pack('<d', server) .. (answers and table.concat(answers) or '') .. (answer or '')
